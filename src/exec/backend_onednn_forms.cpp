// SPDX-License-Identifier: MIT
#include "exec/backend_onednn_forms.h"

#include <string>
#include <vector>

#include "base/hash.h"
#include "base/shared_cache.h"

namespace quarkq::exec {

namespace {

#if DNNL_VERSION_MAJOR >= 3
void add_dims(const dnnl::memory::dims& dims, ContentHash& hash) {
  hash.add({reinterpret_cast<const char*>(dims.data()), dims.size() * sizeof(dims[0])});
}

/// False for layouts that only the library knows.
bool add_layout(const dnnl::memory::desc& desc, ContentHash& hash) {
  if (desc.get_format_kind() != dnnl::memory::format_kind::blocked) return false;
  add_dims({static_cast<int64_t>(desc.get_data_type()), desc.get_submemory_offset()}, hash);
  for (const auto& dims : {desc.get_dims(), desc.get_padded_dims(), desc.get_padded_offsets(), desc.get_strides(),
                           desc.get_inner_blks(), desc.get_inner_idxs()}) {
    add_dims(dims, hash);
  }
  return true;
}
#else
bool add_layout(const dnnl::memory::desc& desc, ContentHash& hash) {
  hash.add(&desc.data, sizeof(desc.data));  // plain data in this version
  return true;
}
#endif

/// Layouts and content; empty when they cannot be told apart from others.
std::string weights_key(const dnnl::memory::desc& given, const dnnl::memory::desc& packed, const void* data) {
  ContentHash hash;
  if (!add_layout(given, hash) || !add_layout(packed, hash)) return "";
  hash.add(data, given.get_size());
  return hash.text();
}

std::shared_ptr<const dnnl::memory> packed_weights(const dnnl::memory::desc& given, const dnnl::memory::desc& packed,
                                                   const void* data) {
  dnnl::memory source(given, engine(), const_cast<void*>(data));
  auto made = std::make_shared<dnnl::memory>(packed, engine());
  dnnl::reorder(source, *made).execute(stream(), source, *made);
  stream().wait();
  return made;
}

}  // namespace

dnnl::engine& engine() {
  static dnnl::engine value(dnnl::engine::kind::cpu, 0);
  return value;
}

dnnl::stream& stream() {
  thread_local dnnl::stream value(engine());  // a stream belongs to one thread at a time
  return value;
}

std::shared_ptr<const dnnl::memory> shared_weights(const dnnl::memory::desc& given, const dnnl::memory::desc& packed,
                                                   const void* data) {
  static SharedCache<dnnl::memory> all;
  return all.get(weights_key(given, packed, data), [&] { return packed_weights(given, packed, data); });
}

}  // namespace quarkq::exec
