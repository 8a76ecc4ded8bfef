// SPDX-License-Identifier: MIT
#include "exec/backend_onednn_weights.h"

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/hash.h"

namespace quarkq::exec {
namespace {

/// Layout and content. A description is plain data in oneDNN 2; version 3 gives it as a blob.
std::string weights_key(const dnnl::memory::desc& given, const dnnl::memory::desc& packed, const float* data) {
  ContentHash hash;
#if DNNL_VERSION_MAJOR >= 3
  const std::vector<uint8_t> from = given.get_blob(), to = packed.get_blob();
  hash.add(from.data(), from.size());
  hash.add(to.data(), to.size());
#else
  hash.add(&given.data, sizeof(given.data));
  hash.add(&packed.data, sizeof(packed.data));
#endif
  hash.add(data, given.get_size());
  return hash.text();
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
                                                   const float* data) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<const dnnl::memory>> all;
  const std::string key = weights_key(given, packed, data);
  const std::lock_guard lock(mutex);
  if (std::shared_ptr<const dnnl::memory> known = all[key].lock()) return known;
  dnnl::memory source(given, engine(), const_cast<float*>(data));
  auto made = std::make_shared<dnnl::memory>(packed, engine());
  dnnl::reorder(source, *made).execute(stream(), source, *made);
  stream().wait();
  std::erase_if(all, [](const auto& entry) { return entry.second.expired(); });
  all[key] = made;
  return made;
}

}  // namespace quarkq::exec
