// SPDX-License-Identifier: MIT
// Several processes, on one machine or many, train the units of one model through a shared folder (ADR 0013). A unit
// sees nothing of the others, so who trains it does not show in the result; claims only keep work from being done
// twice.
#include <algorithm>
#include <chrono>
#include <thread>

#include "base/file_system.h"
#include "base/stopwatch.h"
#include "planning/tune/finetuner.h"

namespace quarkq::planning::finetune {
namespace {

constexpr double kShortestPause = 0.1, kLongestPause = 2;  // seconds between two looks into the folder
constexpr auto kNap = std::chrono::milliseconds(50);       // until it is seen that the user interrupted

/// Folders of other runs in the same shared folder: their names have the same length.
size_t count_others(const std::string& folder, const std::string& own) {
  const Result<std::vector<std::string>> names = list_folders(folder);
  if (!names.ok()) return 0;
  return static_cast<size_t>(std::ranges::count_if(names.value(), [&](const std::string& name) {
    return name.size() == own.size() && name != own && name.find_first_not_of("0123456789abcdef") == std::string::npos;
  }));
}

}  // namespace

void Finetuner::beat() {
  if (claim_) claim_->beat();
}

void Finetuner::say(const std::string& text) const { context_.tuning->now = text; }

/// One folder per run: what decides over the result is in its name, so that no run finds the units of another.
Status Finetuner::open_shared_folder() {
  const std::string& folder = context_.tuning->shared_folder;
  const std::string run = key_.text();
  saved_ = SavedUnits(cat(folder, "/", run));
  QQ_RETURN_IF_ERROR(saved_.make_folder());
  if (const size_t others = count_others(folder, run); others > 0)
    context_.diagnostics.add("finetune-other-runs", folder,
                             cat(others, others == 1 ? " folder" : " folders",
                                 " in it came from another model, other settings, samples, releases or instruction "
                                 "sets than ",
                                 run, " of this run"));
  return Status();
}

Status Finetuner::share_units() {
  QQ_RETURN_IF_ERROR(config::check_can_be_shared(options_));
  QQ_RETURN_IF_ERROR(open_shared_folder());
  Claims claims(static_cast<double>(options_.claim_seconds));
  std::vector<SharedUnit> units(units_.size());
  double pause = kShortestPause;
  while (done_ < units_.size()) {
    const size_t before = done_;
    for (size_t i = 0; i < units.size(); ++i) {
      if (!reports()) return Status(Code::kInterrupted, "interrupted");
      if (!units[i].result) QQ_RETURN_IF_ERROR(share_unit(i, claims, units[i]));
    }
    pause = done_ > before ? kShortestPause : std::min(2 * pause, kLongestPause);
    if (done_ < units_.size()) QQ_RETURN_IF_ERROR(wait_for_others(pause));
  }
  say("");
  for (size_t i = 0; i < units.size(); ++i) QQ_RETURN_IF_ERROR(take(i, *units[i].result, !units[i].is_own));
  return Status();
}

/// Takes the result where there is one, else trains the unit, unless another process is at it.
Status Finetuner::share_unit(size_t index, Claims& claims, SharedUnit& unit) {
  const std::string key = cat(key_.text(), " ", units_[index].label);
  if (find_result(index, key, unit)) return Status();
  QQ_TRY(std::optional<Claim> claim, claims.take(saved_.claim_path(index)));
  if (!claim || find_result(index, key, unit)) return Status();  // the second: it was finished between the two looks
  claim_.emplace(std::move(*claim));
  say(cat("training ", units_[index].label));
  if (!reports()) return Status(Code::kInterrupted, "interrupted");
  memory_.give_back();
  QQ_RETURN_IF_ERROR(walk_to(index));
  QQ_TRY(unit.result, make_unit(index, key));
  QQ_RETURN_IF_ERROR(saved_.save(index, key, *unit.result));
  unit.is_own = true;
  ++done_;
  claim_.reset();
  return Status();
}

bool Finetuner::find_result(size_t index, const std::string& key, SharedUnit& unit) {
  unit.result = load(index, key);
  if (!unit.result) return false;
  ++done_;
  say(cat("found ", units_[index].label, " of another process"));
  static_cast<void>(reports());  // an interrupt is seen at the next unit
  return true;
}

/// Units are claimed in their order, so that a worker walks the model once; again only for what another one left.
Status Finetuner::walk_to(size_t index) {
  if (quantized_walk_->position() > index) {
    quantized_walk_->end();
    float_walk_->end();
    make_walks();
  }
  while (quantized_walk_->position() < index) {
    if (!reports()) return Status(Code::kInterrupted, "interrupted");
    QQ_RETURN_IF_ERROR(skip_unit());
  }
  return Status();
}

Status Finetuner::wait_for_others(double seconds) const {
  say("waiting for other processes");
  const Stopwatch watch;
  while (watch.seconds() < seconds) {
    if (!reports()) return Status(Code::kInterrupted, "interrupted");
    std::this_thread::sleep_for(kNap);
  }
  return Status();
}

}  // namespace quarkq::planning::finetune
