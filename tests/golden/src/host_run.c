/* Runs a grid on the host: groups one after the other, the items of a group as fibers in turns. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "golden.h"

#undef item_id
#undef group_id
#undef group_size
#undef grid_size
#undef wave_size
#undef lane_id

#define STACK_BYTES (64 * 1024)
#define MAX_ITEMS 1024
#define MAX_LANES 64

enum state { READY, AT_BARRIER, AT_WAVE, ENDED };

struct item {
  ucontext_t context;
  enum state state;
  u32 id[3];
  /* While AT_WAVE. */
  u32 site, value, address;
};

/* What the lanes of a wave brought to the last exchange. It stays until each of them has gone on and
 * reached the next one, since an exchange happens only when no lane can run. */
struct wave {
  u64 active;
  u32 value[MAX_LANES], address[MAX_LANES];
};

static struct {
  golden_item_function *kernel;
  void *const *args;
  u32 grid[3], group[3], group_id[3];
  u32 wave_size, items, running, dynamic_lds_size;
  struct item *item;
  struct wave wave[MAX_ITEMS / 32];
  char *stacks;
  void *dynamic_lds;
  ucontext_t scheduler;
} run;

static void fail(const char *why) {
  fprintf(stderr, "golden host run: %s\n", why);
  abort();
}

static void suspend(enum state state) {
  struct item *self = &run.item[run.running];
  self->state = state;
  swapcontext(&self->context, &run.scheduler);
}

static void item_main(void) {
  run.kernel(run.args);
  run.item[run.running].state = ENDED;
}

/* Gives the waiting lanes of the lowest site what they brought. Whether it could. */
static int exchange(u32 first) {
  u32 end = first + run.wave_size < run.items ? first + run.wave_size : run.items;
  u32 site = ~0u;
  for (u32 i = first; i < end; i++) {
    if (run.item[i].state == READY)
      return 0;
    if (run.item[i].state == AT_WAVE && run.item[i].site < site)
      site = run.item[i].site;
  }
  if (site == ~0u)
    return 0;
  struct wave *wave = &run.wave[first / run.wave_size];
  wave->active = 0;
  for (u32 i = first; i < end; i++) {
    struct item *item = &run.item[i];
    if (item->state != AT_WAVE || item->site != site)
      continue;
    wave->active |= 1ul << (i - first);
    wave->value[i - first] = item->value;
    wave->address[i - first] = item->address;
    item->state = READY;
  }
  return 1;
}

static void run_group(void) {
  u32 size[3];
  for (u32 d = 0; d < 3; d++) {
    u32 left = run.grid[d] - run.group_id[d] * run.group[d];
    size[d] = left < run.group[d] ? left : run.group[d];
  }
  run.items = size[0] * size[1] * size[2];
  for (u32 i = 0; i < run.items; i++) {
    struct item *item = &run.item[i];
    item->state = READY;
    item->id[0] = i % size[0];
    item->id[1] = i / size[0] % size[1];
    item->id[2] = i / size[0] / size[1];
    getcontext(&item->context);
    item->context.uc_stack.ss_sp = run.stacks + (size_t)i * STACK_BYTES;
    item->context.uc_stack.ss_size = STACK_BYTES;
    item->context.uc_link = &run.scheduler;
    makecontext(&item->context, item_main, 0);
  }
  for (;;) {
    int progress = 0, ended = 1;
    for (u32 i = 0; i < run.items; i++) {
      if (run.item[i].state == READY) {
        run.running = i;
        swapcontext(&run.scheduler, &run.item[i].context);
        progress = 1;
      }
      ended &= run.item[i].state == ENDED;
    }
    if (ended)
      return;
    for (u32 first = 0; first < run.items; first += run.wave_size)
      progress |= exchange(first);
    if (progress)
      continue;
    /* Nobody runs or exchanges, so whoever has not ended waits at the barrier. */
    for (u32 i = 0; i < run.items; i++)
      if (run.item[i].state == AT_BARRIER)
        run.item[i].state = READY;
  }
}

void golden_run(golden_item_function *kernel, const u32 *grid, const u16 *group, u32 wave_size, u32 dynamic_lds,
                void *const *args) {
  u32 groups[3], items = 1;
  if (wave_size != 32 && wave_size != 64)
    fail("a wave has 32 or 64 lanes");
  run.kernel = kernel;
  run.args = args;
  run.wave_size = wave_size;
  run.dynamic_lds_size = dynamic_lds;
  for (u32 d = 0; d < 3; d++) {
    if (group[d] == 0 || grid[d] == 0 || group[d] > MAX_ITEMS)
      fail("an empty or too large dimension");
    run.grid[d] = grid[d];
    run.group[d] = group[d];
    groups[d] = (grid[d] + group[d] - 1) / group[d];
    items *= group[d];
  }
  if (items > MAX_ITEMS)
    fail("too many items in a group");
  run.item = calloc(items, sizeof *run.item);
  run.stacks = malloc((size_t)items * STACK_BYTES);
  run.dynamic_lds = calloc(1, dynamic_lds + 16);
  if (!run.item || !run.stacks || !run.dynamic_lds)
    fail("out of memory");
  for (run.group_id[2] = 0; run.group_id[2] < groups[2]; run.group_id[2]++)
    for (run.group_id[1] = 0; run.group_id[1] < groups[1]; run.group_id[1]++)
      for (run.group_id[0] = 0; run.group_id[0] < groups[0]; run.group_id[0]++)
        run_group();
  free(run.item);
  free(run.stacks);
  free(run.dynamic_lds);
}

u32 golden_item_id(u32 d) { return run.item[run.running].id[d]; }
u32 golden_group_id(u32 d) { return run.group_id[d]; }
u32 golden_group_size(u32 d) { return run.group[d]; }
u32 golden_grid_size(u32 d) { return run.grid[d]; }
/* The last dimension that is larger than one. */
u32 golden_dimensions(void) { return run.grid[2] > 1 ? 3 : run.grid[1] > 1 ? 2 : 1; }
u32 golden_wave_size(void) { return run.wave_size; }
u32 golden_lane_id(void) { return run.running % run.wave_size; }
void *golden_dynamic_lds(void) { return run.dynamic_lds; }
u32 golden_dynamic_lds_size(void) { return run.dynamic_lds_size; }
void golden_barrier(void) { suspend(AT_BARRIER); }

static const struct wave *bring(u32 site, u32 value, u32 address) {
  struct item *self = &run.item[run.running];
  self->site = site;
  self->value = value;
  self->address = address;
  suspend(AT_WAVE);
  return &run.wave[run.running / run.wave_size];
}

static int is_active(const struct wave *wave, u32 lane) { return lane < MAX_LANES && (wave->active >> lane & 1); }

/* What LDS hardware gives of an inactive lane: zero. */
static u32 value_or_zero(const struct wave *wave, u32 lane) { return is_active(wave, lane) ? wave->value[lane] : 0; }

u64 golden_ballot(u32 site, u32 condition) {
  const struct wave *wave = bring(site, condition, 0);
  u64 mask = 0;
  for (u32 lane = 0; lane < run.wave_size; lane++)
    mask |= (u64)value_or_zero(wave, lane) << lane;
  return mask;
}

u32 golden_readlane(u32 site, u32 value, u32 lane) {
  const struct wave *wave = bring(site, value, 0);
  if (!is_active(wave, lane))
    fail("readlane of a lane that is not active: the GPU gives what is left in the register");
  return wave->value[lane];
}

u32 golden_readfirstlane(u32 site, u32 value) {
  const struct wave *wave = bring(site, value, 0);
  return wave->value[__builtin_ctzl(wave->active)];
}

u32 golden_bpermute(u32 site, u32 address, u32 value) {
  const struct wave *wave = bring(site, value, 0);
  return value_or_zero(wave, address / 4 % run.wave_size);
}

u32 golden_permute(u32 site, u32 address, u32 value) {
  const struct wave *wave = bring(site, value, address);
  u32 self = golden_lane_id(), result = 0;
  for (u32 lane = 0; lane < run.wave_size; lane++)
    if (is_active(wave, lane) && wave->address[lane] / 4 % run.wave_size == self)
      result = wave->value[lane];
  return result;
}

u32 golden_swizzle(u32 site, u32 value, u32 pattern) {
  const struct wave *wave = bring(site, value, 0);
  u32 self = golden_lane_id(), lane = self & 31;
  if (pattern & 0x8000)
    lane = (lane & ~3u) | (pattern >> (lane & 3) * 2 & 3);
  else
    lane = ((lane & pattern & 31) | (pattern >> 5 & 31)) ^ (pattern >> 10 & 31);
  return value_or_zero(wave, (self & ~31u) | lane);
}

/* The source lane of a DPP control, or none (~0). */
static u32 dpp_source(u32 control, u32 self) {
  u32 row = self & ~15u, lane = self & 15, n = control & 15;
  if (control < 0x100)
    return (self & ~3u) | (control >> (self & 3) * 2 & 3);
  switch (control & ~15u) {
  case 0x100: return lane + n < 16 ? self + n : ~0u;
  case 0x110: return lane >= n ? self - n : ~0u;
  case 0x120: return row | ((lane - n) & 15);
  case 0x150: return row | n;
  case 0x160: return row | (lane ^ n);
  }
  switch (control) {
  case 0x130: return self + 1 < run.wave_size ? self + 1 : ~0u;
  case 0x134: return (self + 1) % run.wave_size;
  case 0x138: return self - 1;
  case 0x13c: return (self - 1) % run.wave_size;
  case 0x140: return row | (15 - lane);
  case 0x141: return (self & ~7u) | (7 - (self & 7));
  case 0x142: return row ? row - 1 : ~0u;
  case 0x143: return self >= 32 ? 31 : ~0u;
  }
  fail("unknown DPP control");
  return ~0u;
}

u32 golden_dpp(u32 site, u32 old, u32 value, u32 control, u32 rows, u32 banks, u32 bound) {
  const struct wave *wave = bring(site, value, 0);
  u32 self = golden_lane_id(), source = dpp_source(control, self);
  if (!(rows >> self / 16 & 1) || !(banks >> self % 16 / 4 & 1))
    return old;
  if (is_active(wave, source))
    return wave->value[source];
  return bound ? 0 : old;
}

u32 golden_dpp8(u32 site, u32 value, u32 selector) {
  const struct wave *wave = bring(site, value, 0);
  u32 self = golden_lane_id();
  return value_or_zero(wave, (self & ~7u) | (selector >> (self & 7) * 3 & 7));
}

u32 golden_permlane16(u32 site, u32 value, u32 low, u32 high, u32 other_row) {
  const struct wave *wave = bring(site, value, 0);
  u32 self = golden_lane_id();
  u32 lane = ((self & 8) ? high : low) >> (self & 7) * 4 & 15;
  return value_or_zero(wave, ((self & ~15u) ^ other_row * 16) | lane);
}

u32 golden_permlane64(u32 site, u32 value) {
  const struct wave *wave = bring(site, value, 0);
  return value_or_zero(wave, golden_lane_id() ^ 32);
}

/* The 64 significant bits of x87 leave a second rounding to 24 no room to matter. */
f32 golden_rsqrt(f32 x) { return (f32)(1.0L / sqrtl(x)); }
f32 golden_rcp(f32 x) { return (f32)(1.0L / x); }
f32 golden_sqrt(f32 x) { return (f32)sqrtl(x); }
f32 golden_exp2(f32 x) { return (f32)exp2l(x); }
f32 golden_log2(f32 x) { return (f32)log2l(x); }

static f32 sine_of_turns(f32 x, int quarters) {
  long double turns = x - rintl(x);           /* exact, at most a half */
  int quarter = (int)rintl(turns * 4);        /* -2 to 2 */
  long double rest = turns - quarter * 0.25L; /* exact, at most an eighth */
  long double angle = rest * 6.283185307179586476925286766559005768L;
  switch ((quarter + quarters) & 3) {
  case 0: return (f32)sinl(angle);
  case 1: return (f32)cosl(angle);
  case 2: return (f32)-sinl(angle);
  default: return (f32)-cosl(angle);
  }
}
f32 golden_sin_turns(f32 x) { return sine_of_turns(x, 0); }
f32 golden_cos_turns(f32 x) { return sine_of_turns(x, 1); }
