/* A whole program for the device, as gcn-run starts it. Debian ships gcn-run without GCC's compiler proper for the
 * device, so clang compiles this one to the same interface: kernels `_init_array`, `main`, `_fini_array`, whose
 * argument block has argc, argv, a place for results and a heap. Messages go through a ring that gcn-run polls. */
#define KERNEL __attribute__((amdgpu_kernel, visibility("protected")))

struct output {
  int return_value;
  unsigned next_output;
  struct printf_data {
    int written;
    char msg[128];
    int type;
    union {
      long ivalue;
      double dvalue;
      char text[128];
    };
  } queue[1000];
};

static void say(struct output *out, const char *message, int type, long ivalue, const char *text) {
  unsigned index = __atomic_fetch_add(&out->next_output, 1, __ATOMIC_SEQ_CST);
  struct printf_data *slot = &out->queue[index % 1000];
  int i;
  for (i = 0; message[i]; i++)
    slot->msg[i] = message[i];
  slot->msg[i] = 0;
  slot->type = type;
  if (type == 2) {
    for (i = 0; text[i] && i < 127; i++)
      slot->text[i] = text[i];
    slot->text[i] = 0;
  } else {
    slot->ivalue = ivalue;
  }
  __atomic_store_n(&slot->written, 1, __ATOMIC_RELEASE);
}

static int initialised;

KERNEL void init_array(void) __asm__("_init_array");
KERNEL void fini_array(void) __asm__("_fini_array");
KERNEL void start(int argc, char **argv, struct output *out, void *heap) __asm__("main");

KERNEL void init_array(void) { initialised = 1; }
KERNEL void fini_array(void) {}

KERNEL void start(int argc, char **argv, struct output *out, void *heap) {
  if (__builtin_amdgcn_workitem_id_x() != 0) /* gcn-run starts a whole wave */
    return;
  unsigned long a = 0, b = 1;
  for (int i = 0; i < 60; i++) {
    unsigned long next = a + b;
    a = b;
    b = next;
  }
  say(out, "fib(60)", 0, (long)a, 0);
  for (int i = 1; i < argc; i++)
    say(out, "argument", 2, 0, argv[i]);
  out->return_value = initialised && heap && a == 1548008755920 ? 40 + argc : 1;
}
