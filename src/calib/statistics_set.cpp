// SPDX-License-Identifier: MIT
#include "calib/statistics_set.h"

#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/file_system.h"
#include "base/hash.h"
#include "base/parse_text.h"

namespace quarkq::calib {

namespace {

std::string short_hash(const std::string& hash) { return hash.substr(0, 12); }

std::string hash_difference(const std::string& what, const std::string& theirs, const std::string& ours) {
  return cat(what, " (hash ", short_hash(theirs), ", here ", short_hash(ours), ")");
}

std::string isa_text(const StatisticsOrigin& origin) {
  return join(std::vector<std::string>(origin.isa.begin(), origin.isa.end()), "+");
}

/// The first setting that differs: "include_cle: true there, false here".
std::string setting_difference(const StatisticsOrigin& theirs, const StatisticsOrigin& ours) {
  std::set<std::string> names;
  for (const auto& [name, value] : theirs.settings) names.insert(name);
  for (const auto& [name, value] : ours.settings) names.insert(name);
  auto text = [](const std::map<std::string, std::string>& settings, const std::string& name) {
    const auto found = settings.find(name);
    return found == settings.end() ? std::string("not set") : found->second;
  };
  for (const std::string& name : names) {
    const std::string there = text(theirs.settings, name), here = text(ours.settings, name);
    if (there != here) return cat("made with other settings (", name, ": ", there, " there, ", here, " here)");
  }
  return "";
}

}  // namespace

std::string run_difference(const StatisticsOrigin& theirs, const StatisticsOrigin& ours, bool allow_other_isa) {
  if (theirs.model != ours.model) return hash_difference("made from another model", theirs.model, ours.model);
  if (theirs.preprocess != ours.preprocess) {
    return cat("made with another preprocess block (", theirs.preprocess, " there, ", ours.preprocess, " here)");
  }
  if (theirs.graph != ours.graph) {
    const std::string setting = setting_difference(theirs, ours);
    return setting.empty() ? hash_difference("made from another form of the model", theirs.graph, ours.graph) : setting;
  }
  if (!allow_other_isa && theirs.isa != ours.isa) {
    return cat("made with instruction set ", isa_text(theirs), ", this run uses ", isa_text(ours),
               "; float results differ in the last bits");
  }
  return "";
}

namespace {

/// Parts of one set come from the same program, settings and data as well.
std::string part_difference(const StatisticsOrigin& theirs, const StatisticsOrigin& ours, bool allow_other_isa) {
  if (theirs.version != ours.version) {
    return cat("made by quarkq ", theirs.version, ", other parts by ", ours.version);
  }
  if (std::string difference = run_difference(theirs, ours, allow_other_isa); !difference.empty()) return difference;
  if (theirs.samples != ours.samples) {
    return cat("made from data of ", theirs.samples, " samples, the other parts of ", ours.samples);
  }
  return setting_difference(theirs, ours);
}

}  // namespace

Status merge_statistics(StatisticsSet& all, StatisticsSet part, const std::string& part_name, bool allow_other_isa) {
  const std::string difference = part_difference(part.origin, all.origin, allow_other_isa);
  if (!difference.empty()) return bad_data(part_name, ": ", difference);
  if (part.with_bins != all.with_bins) return bad_data(part_name, ": one part contains bins, another only extremes");
  for (const auto& [number, name] : part.samples) {
    const auto [known, is_new] = all.samples.emplace(number, name);
    if (!is_new) return bad_data(part_name, ": sample ", number, " (", name, ") is in another part already");
  }
  if (part.tensors.size() != all.tensors.size()) {
    return bad_data(part_name, ": holds ", part.tensors.size(), " tensors, the other parts ", all.tensors.size());
  }
  for (auto& [name, statistics] : part.tensors) {
    const auto own = all.tensors.find(name);
    if (own == all.tensors.end()) return bad_data(part_name, ": tensor ", name, " is not in the other parts");
    own->second.merge(std::move(statistics));
  }
  all.origin.isa.insert(part.origin.isa.begin(), part.origin.isa.end());
  return Status();
}

Status check_complete(const StatisticsSet& set, const std::string& name) {
  if (set.samples.size() == set.origin.samples) return Status();
  constexpr size_t kNamed = 5;
  std::vector<std::string> missing;
  for (uint64_t number = 0; number < set.origin.samples && missing.size() < kNamed; ++number) {
    if (!set.samples.contains(number)) missing.push_back(std::to_string(number));
  }
  return bad_data(name, ": covers ", set.samples.size(), " of ", set.origin.samples,
                  " samples (missing: ", join(missing, ", "),
                  set.origin.samples - set.samples.size() > kNamed ? ", ..." : "",
                  "); merge all parts first, or set calibration.allow_partial=true");
}

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kMagic = "QQSTATS1";
constexpr size_t kHashBytes = 32;
constexpr int kPositionOffset = 256;  // positions lie within -127 to 127; stored without a sign

std::string hash_of(std::string_view bytes) {
  ContentHash hash;
  hash.add(bytes.data(), bytes.size());
  return hash.text();
}

// ---- writing

void put_number(std::string& out, uint64_t value) {
  for (; value >= 128; value >>= 7) out += static_cast<char>(value | 128);
  out += static_cast<char>(value);
}

void put_float(std::string& out, float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(bits >> shift);
}

void put_tensor(std::string& out, const ValueStatistics& statistics) {
  put_number(out, statistics.records().size());
  uint64_t last = 0;
  for (const SampleRecord& record : statistics.records()) {
    put_number(out, record.sample - last);
    put_number(out, record.finite);
    put_number(out, record.not_finite);
    put_float(out, record.range.min);
    put_float(out, record.range.max);
    last = record.sample;
  }
  put_number(out, statistics.bin_counts().size());
  last = 0;
  for (const BinCount& entry : statistics.bin_counts()) {
    put_number(out, entry.bin - last);
    put_number(out, entry.count);
    last = entry.bin;
  }
  put_number(out, statistics.votes.size());
  for (const auto& [position, count] : statistics.votes) {
    put_number(out, static_cast<uint64_t>(int64_t{position} + kPositionOffset));
    put_number(out, count);
  }
}

std::string header_text(const StatisticsSet& set) {
  Json header = Json::object();
  header["quarkq"] = set.origin.version;
  header["model"] = set.origin.model;
  header["graph"] = set.origin.graph;
  header["preprocess"] = set.origin.preprocess;
  header["settings"] = set.origin.settings;
  header["isa"] = set.origin.isa;
  header["total_samples"] = set.origin.samples;
  header["with_bins"] = set.with_bins;
  header["samples"] = Json::array();
  for (const auto& [number, name] : set.samples) header["samples"].push_back({number, name});
  header["tensors"] = Json::array();
  for (const auto& [name, statistics] : set.tensors) header["tensors"].push_back(name);
  return header.dump(0, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
}

// ---- reading

/// The rest of the file; every read says whether there was enough of it.
class Bytes {
 public:
  explicit Bytes(std::string_view data) : rest_(data) {}

  bool number(uint64_t& value) {
    value = 0;
    for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= static_cast<uint64_t>(byte & 127) << shift;
      if (byte < 128) return true;
    }
    return false;
  }

  bool real(float& value) {
    if (rest_.size() < 4) return false;
    uint32_t bits = 0;
    for (int i = 0; i < 4; ++i)
      bits |= static_cast<uint32_t>(static_cast<unsigned char>(rest_[static_cast<size_t>(i)])) << (8 * i);
    rest_.remove_prefix(4);
    value = std::bit_cast<float>(bits);
    return true;
  }

  /// A count of entries of at least `least` bytes each.
  bool count(uint64_t& value, size_t least) { return number(value) && value <= rest_.size() / least; }
  bool empty() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

bool read_records(Bytes& bytes, const StatisticsSet& set, std::vector<SampleRecord>& records) {
  uint64_t count = 0, sample = 0, step = 0;
  if (!bytes.count(count, 11)) return false;
  for (uint64_t i = 0; i < count; ++i) {
    SampleRecord record;
    const bool is_whole = bytes.number(step) && bytes.number(record.finite) && bytes.number(record.not_finite) &&
                          bytes.real(record.range.min) && bytes.real(record.range.max);
    if (!is_whole || (i > 0 && step == 0)) return false;
    sample += step;
    if (!set.samples.contains(sample) || !(record.range.min <= record.range.max)) return false;
    record.sample = sample;
    records.push_back(record);
  }
  return true;
}

bool read_bins(Bytes& bytes, std::vector<BinCount>& bins) {
  uint64_t count = 0, bin = 0, step = 0;
  if (!bytes.count(count, 2)) return false;
  for (uint64_t i = 0; i < count; ++i) {
    BinCount entry;
    if (!bytes.number(step) || !bytes.number(entry.count) || (i > 0 && step == 0) || step >= uint64_t{2} * kSignBin)
      return false;
    bin += step;
    if ((bin & (kSignBin - 1)) >= kInfinityBin || bin >= uint64_t{2} * kSignBin) return false;
    entry.bin = static_cast<uint32_t>(bin);
    bins.push_back(entry);
  }
  return true;
}

bool read_votes(Bytes& bytes, std::map<int, uint64_t>& votes) {
  uint64_t count = 0, position = 0, number = 0;
  if (!bytes.count(count, 2)) return false;
  for (uint64_t i = 0; i < count; ++i) {
    if (!bytes.number(position) || !bytes.number(number) || position > uint64_t{2} * kPositionOffset) return false;
    votes[static_cast<int>(position) - kPositionOffset] = number;
  }
  return true;
}

bool read_tensor(Bytes& bytes, StatisticsSet& set, const std::string& name) {
  std::vector<SampleRecord> records;
  std::vector<BinCount> bins;
  std::map<int, uint64_t> votes;
  if (!read_records(bytes, set, records) || !read_bins(bytes, bins) || !read_votes(bytes, votes)) return false;
  uint64_t binned = 0;
  for (const BinCount& entry : bins) binned += entry.count;
  ValueStatistics statistics(set.with_bins, std::move(records), std::move(bins));
  if (set.with_bins && binned != statistics.count()) return false;
  statistics.votes = std::move(votes);
  return set.tensors.emplace(name, std::move(statistics)).second;
}

bool read_origin(const Json& header, StatisticsOrigin& origin) {
  const std::pair<const char*, std::string*> texts[] = {{"quarkq", &origin.version},
                                                        {"model", &origin.model},
                                                        {"graph", &origin.graph},
                                                        {"preprocess", &origin.preprocess}};
  for (const auto& [key, member] : texts) {
    if (!header.contains(key) || !header[key].is_string()) return false;
    *member = header[key].get<std::string>();
  }
  for (const char* key : {"settings", "isa", "total_samples", "with_bins", "samples", "tensors"}) {
    if (!header.contains(key)) return false;
  }
  if (!header["settings"].is_object() || !header["isa"].is_array()) return false;
  for (const auto& [key, value] : header["settings"].items()) {
    if (!value.is_string()) return false;
    origin.settings[key] = value.get<std::string>();
  }
  for (const Json& name : header["isa"]) {
    if (!name.is_string()) return false;
    origin.isa.insert(name.get<std::string>());
  }
  if (!header["total_samples"].is_number_unsigned()) return false;
  origin.samples = header["total_samples"].get<uint64_t>();
  return true;
}

bool read_header(const Json& header, StatisticsSet& set) {
  if (!header.is_object() || !read_origin(header, set.origin)) return false;
  if (!header["with_bins"].is_boolean() || !header["samples"].is_array() || !header["tensors"].is_array()) return false;
  set.with_bins = header["with_bins"].get<bool>();
  for (const Json& entry : header["samples"]) {
    if (!entry.is_array() || entry.size() != 2 || !entry[0].is_number_unsigned() || !entry[1].is_string()) return false;
    const auto number = entry[0].get<uint64_t>();
    if (number >= set.origin.samples || !set.samples.emplace(number, entry[1].get<std::string>()).second) return false;
  }
  return true;
}

}  // namespace

std::string encode_statistics(const StatisticsSet& set) {
  const std::string header = header_text(set);
  std::string out(kMagic);
  for (int shift = 0; shift < 64; shift += 8) out += static_cast<char>(static_cast<uint64_t>(header.size()) >> shift);
  out += header;
  for (const auto& [name, statistics] : set.tensors) put_tensor(out, statistics);
  return out + hash_of(out);
}

Status save_statistics(const std::string& path, const StatisticsSet& set) {
  return write_file(path, encode_statistics(set));
}

Result<StatisticsSet> parse_statistics(const std::byte* data, size_t bytes, const std::string& name) {
  std::string_view rest(reinterpret_cast<const char*>(data), bytes);
  constexpr size_t kLeast = kMagic.size() + 8;
  if (bytes < kLeast || !rest.starts_with(kMagic)) return bad_data(name, ": not a quarkq statistics file");
  if (bytes < kLeast + kHashBytes || hash_of(rest.substr(0, bytes - kHashBytes)) != rest.substr(bytes - kHashBytes)) {
    return bad_data(name, ": damaged or truncated, its hash does not fit its content");
  }
  uint64_t length = 0;
  for (int i = 0; i < 8; ++i) {
    length |= static_cast<uint64_t>(static_cast<unsigned char>(rest[kMagic.size() + static_cast<size_t>(i)]))
              << (8 * i);
  }
  const size_t body = bytes - kLeast - kHashBytes;
  if (length > body) return bad_data(name, ": malformed header");
  const Json header = parse_json<Json>(rest.substr(kLeast, length));
  StatisticsSet set;
  if (header.is_discarded() || !read_header(header, set)) return bad_data(name, ": malformed header");
  Bytes payload(rest.substr(kLeast + length, body - length));
  for (const Json& tensor : header["tensors"]) {
    if (!tensor.is_string() || !read_tensor(payload, set, tensor.get<std::string>())) {
      return bad_data(name, ": malformed statistics of tensor ", tensor.dump());
    }
  }
  if (!payload.empty()) return bad_data(name, ": contains more data than its header specifies");
  return set;
}

Result<StatisticsSet> load_statistics(const std::string& path) {
  Result<std::shared_ptr<const MappedFile>> file = MappedFile::open(path);
  if (!file.ok()) return bad_data(file.status().message());
  return parse_statistics(file.value()->data(), file.value()->size(), path);
}

}  // namespace quarkq::calib
