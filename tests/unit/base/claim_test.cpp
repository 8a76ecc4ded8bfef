// SPDX-License-Identifier: MIT
// Claims on files: one owner at a time, dead owners are followed, whatever lies in the folder.
#include "base/claim.h"

#include <sys/stat.h>

#include <chrono>
#include <functional>
#include <list>

#include "unit/base/temp_folder.h"

namespace quarkq {
namespace {

namespace fs = std::filesystem;
using test::content_of;
using test::TempFolder;

constexpr double kStale = 10;

/// A folder, a clock that the test sets, and processes that look at both.
class ClaimTest : public ::testing::Test {
 protected:
  Claims process() {
    return Claims(kStale, [this] { return now_; });
  }
  bool takes(Claims& process) {
    Result<std::optional<Claim>> claim = process.take(path_);
    EXPECT_TRUE(claim.ok()) << claim.status().message();
    if (!claim.ok() || !claim.value()) return false;
    held_.push_back(std::move(*claim.value()));
    return true;
  }
  /// What the system's clock says does not matter, only that it differs.
  void touch(int seconds) const { fs::last_write_time(path_, fs::file_time_type(std::chrono::seconds(seconds))); }

  TempFolder folder_;
  std::string path_ = folder_ / "layer0.claim";
  double now_ = 100;
  std::list<Claim> held_;
};

TEST_F(ClaimTest, OneHasItUntilItIsReleased) {
  Claims one = process(), other = process();
  EXPECT_TRUE(takes(one));
  EXPECT_NE(content_of(path_), "");
  EXPECT_FALSE(takes(other));
  EXPECT_FALSE(takes(one));
  held_.clear();
  EXPECT_FALSE(fs::exists(path_));
  EXPECT_TRUE(takes(other));
  held_.clear();
  EXPECT_TRUE(folder_.names().empty());
}

TEST_F(ClaimTest, ADeadOwnerIsFollowed) {
  folder_.write("layer0.claim", "some process\n");
  Claims one = process();
  EXPECT_FALSE(takes(one));
  now_ += kStale - 1;
  EXPECT_FALSE(takes(one));
  now_ += 1;
  EXPECT_TRUE(takes(one));
  EXPECT_EQ(content_of(path_).find("some process"), std::string::npos);
  EXPECT_EQ(folder_.names(), std::vector<std::string>{"layer0.claim"});
}

TEST_F(ClaimTest, SignsOfLifeKeepIt) {
  folder_.write("layer0.claim", "some process\n");
  Claims one = process();
  for (int i = 0; i < 5; ++i) {
    touch(1000 + i);
    EXPECT_FALSE(takes(one)) << i;
    now_ += kStale - 1;
  }
  EXPECT_FALSE(takes(one));
  now_ += kStale;
  EXPECT_TRUE(takes(one));
}

TEST_F(ClaimTest, OwnersTouchTheirFileNowAndThen) {
  Claims one = process();
  ASSERT_TRUE(takes(one));
  touch(1000);
  const auto old = fs::last_write_time(path_);
  held_.front().beat();
  EXPECT_EQ(fs::last_write_time(path_), old);
  now_ += kStale / 2;
  held_.front().beat();
  EXPECT_NE(fs::last_write_time(path_), old);
}

TEST_F(ClaimTest, OneOfTwoFollowsTheDeadOne) {
  folder_.write("layer0.claim", "some process\n");
  Claims one = process(), other = process();
  EXPECT_FALSE(takes(one));
  EXPECT_FALSE(takes(other));
  now_ += kStale;
  EXPECT_TRUE(takes(one));
  EXPECT_FALSE(takes(other));
  now_ += kStale - 1;
  EXPECT_FALSE(takes(other));
}

/// The second one decided while the dead claim was there, and acts when the first one has a new one.
TEST_F(ClaimTest, ANewClaimIsPutBack) {
  folder_.write("layer0.claim", "some process\n");
  const std::string dead = claim_mark(path_), aside = path_ + ".aside";
  Claims one = process();
  EXPECT_FALSE(takes(one));
  now_ += kStale;
  ASSERT_TRUE(takes(one));
  const std::string alive = claim_mark(path_);
  EXPECT_NE(alive, dead);
  EXPECT_TRUE(remove_dead_claim(path_, dead, aside).ok());
  EXPECT_EQ(claim_mark(path_), alive);
  EXPECT_FALSE(fs::exists(aside));
  held_.clear();  // still its own
  EXPECT_TRUE(folder_.names().empty());
  EXPECT_TRUE(remove_dead_claim(path_, dead, aside).ok());  // another one was faster
}

TEST_F(ClaimTest, WhoLostItLeavesTheNewOneAlone) {
  Claims slow = process(), other = process();
  ASSERT_TRUE(takes(slow));
  EXPECT_FALSE(takes(other));
  now_ += kStale;
  ASSERT_TRUE(takes(other));
  const std::string mark = claim_mark(path_);
  now_ += kStale;
  held_.front().beat();
  EXPECT_EQ(claim_mark(path_), mark);
  held_.pop_front();
  EXPECT_EQ(claim_mark(path_), mark);
}

TEST_F(ClaimTest, AnythingElseAtItsPlaceIsADeadOne) {
  const std::string outside = folder_.write("outside", "mine");
  const auto make_link = [&](const std::string& target) { fs::create_symlink(target, path_); };
  const std::vector<std::pair<std::string, std::function<void()>>> rows = {
      {"empty file", [&] { folder_.write("layer0.claim", ""); }},
      {"large file", [&] { folder_.write("layer0.claim", std::string(100000, '\xff')); }},
      {"folder", [&] { fs::create_directory(path_); }},
      {"link", [&] { make_link(outside); }},
      {"link to nothing", [&] { make_link("/no/such/file"); }},
      {"pipe", [&] { EXPECT_EQ(::mkfifo(path_.c_str(), 0600), 0); }},
      {"unreadable", [&] { EXPECT_EQ(::chmod(folder_.write("layer0.claim", "x").c_str(), 0), 0); }}};
  for (const auto& [name, make] : rows) {
    make();
    Claims one = process();
    EXPECT_FALSE(takes(one)) << name;
    now_ += kStale;
    EXPECT_TRUE(takes(one)) << name;
    held_.clear();
    EXPECT_EQ(folder_.names(), std::vector<std::string>{"outside"}) << name;
    EXPECT_EQ(content_of(outside), "mine") << name;
  }
}

TEST_F(ClaimTest, AFolderWithFilesIsMovedAway) {
  const std::string inside = folder_.write("layer0.claim/mine", "mine");
  Claims one = process();
  EXPECT_FALSE(takes(one));
  now_ += kStale;
  EXPECT_TRUE(takes(one));
  EXPECT_TRUE(fs::is_regular_file(path_));
  EXPECT_EQ(folder_.names().size(), 2u);  // nothing of others is deleted
}

TEST_F(ClaimTest, AMissingFolderIsNamed) {
  Claims one = process();
  const auto claim = one.take(folder_.path() + "/missing/layer0.claim");
  ASSERT_FALSE(claim.ok());
  EXPECT_EQ(claim.status().code(), Code::kIo);
  EXPECT_NE(claim.status().message().find("/missing/layer0.claim"), std::string::npos) << claim.status().message();
}

}  // namespace
}  // namespace quarkq
