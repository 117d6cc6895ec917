/* What newer HSA headers than Debian's have of virtual memory and dmabufs, as far as the clients here need it. */
#ifndef RUKH_VMEM_H
#define RUKH_VMEM_H

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#define NOT_SUPPORTED 47u /* HSA_STATUS_ERROR_NOT_SUPPORTED */
#define INFO_DMABUF_SUPPORTED ((hsa_system_info_t)0x204)
#define INFO_VIRTUAL_MEM_API_SUPPORTED ((hsa_system_info_t)0x205)
#define POINTER_RESERVED 5u
#define POINTER_VMEM 6u

typedef struct {
  uint64_t handle;
} vmem_handle_t;

enum { ACCESS_NONE = 0, ACCESS_RO = 1, ACCESS_WO = 2, ACCESS_RW = 3 };

typedef struct {
  uint32_t permissions;
  hsa_agent_t agent;
} access_desc_t;

hsa_status_t hsa_amd_vmem_address_reserve(void **va, size_t size, uint64_t address, uint64_t flags);
hsa_status_t hsa_amd_vmem_address_reserve_align(void **va, size_t size, uint64_t address, uint64_t alignment,
                                                uint64_t flags);
hsa_status_t hsa_amd_vmem_address_free(void *va, size_t size);
hsa_status_t hsa_amd_vmem_handle_create(hsa_amd_memory_pool_t pool, size_t size, uint32_t type, uint64_t flags,
                                        vmem_handle_t *handle);
hsa_status_t hsa_amd_vmem_handle_release(vmem_handle_t handle);
hsa_status_t hsa_amd_vmem_map(void *va, size_t size, size_t offset, vmem_handle_t handle, uint64_t flags);
hsa_status_t hsa_amd_vmem_unmap(void *va, size_t size);
hsa_status_t hsa_amd_vmem_set_access(void *va, size_t size, const access_desc_t *desc, size_t count);
hsa_status_t hsa_amd_vmem_get_access(void *va, uint32_t *permissions, hsa_agent_t agent);
hsa_status_t hsa_amd_vmem_export_shareable_handle(int *fd, vmem_handle_t handle, uint64_t flags);
hsa_status_t hsa_amd_vmem_import_shareable_handle(int fd, vmem_handle_t *handle);
hsa_status_t hsa_amd_vmem_retain_alloc_handle(vmem_handle_t *handle, void *address);
hsa_status_t hsa_amd_vmem_get_alloc_properties_from_handle(vmem_handle_t handle, hsa_amd_memory_pool_t *pool,
                                                           uint32_t *type);
hsa_status_t hsa_amd_portable_export_dmabuf(const void *ptr, size_t size, int *fd, uint64_t *offset);
hsa_status_t hsa_amd_portable_export_dmabuf_v2(const void *ptr, size_t size, int *fd, uint64_t *offset, uint64_t flags);
hsa_status_t hsa_amd_portable_close_dmabuf(int fd);

#endif
