// SPDX-License-Identifier: MIT
// Commands: how a line becomes words, and what is said of programs that fail, print much or take too long.
#include "base/run_command.h"

#include <gtest/gtest.h>

#include "base/stopwatch.h"

namespace quarkq {
namespace {

using Words = std::vector<std::string>;

TEST(CommandWordsTest, SeparatesAsAShellDoes) {
  EXPECT_EQ(command_words("python  score.py\t{results}").value(), Words({"python", "score.py", "{results}"}));
  EXPECT_EQ(command_words("a 'b c' \"d e\"f g\\ h").value(), Words({"a", "b c", "d ef", "g h"}));
  EXPECT_EQ(command_words("a '' \"\"").value(), Words({"a", "", ""}));
  EXPECT_EQ(command_words(R"(a "x\"y\\z\n" 'q\')").value(), Words({"a", "x\"y\\z\\n", "q\\"}));
  EXPECT_EQ(command_words("a $HOME;b|c>d `e` *").value(), Words({"a", "$HOME;b|c>d", "`e`", "*"}));
}

TEST(CommandWordsTest, RefusesOpenQuotesAndNothing) {
  for (const char* line : {"", "  ", "a 'b", "a \"b", "'' a"}) {
    EXPECT_EQ(command_words(line).status().code(), Code::kInvalidArgument) << line;
  }
}

TEST(RunCommandTest, CollectsOutputAndExitCode) {
  const auto result = run_command({"sh", "-c", "echo 1.5; echo oops >&2; exit 3"}, {}).value();
  EXPECT_EQ(result.output, "1.5\n");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(result.last_lines, "oops");
}

TEST(RunCommandTest, NoShellSeesTheWords) {
  const auto result = run_command({"printf", "%s", "$(echo bad); `ls` 'x'"}, {}).value();
  EXPECT_EQ(result.output, "$(echo bad); `ls` 'x'");
}

TEST(RunCommandTest, StandardInputIsEmpty) {
  const auto result = run_command({"cat"}, {}).value();
  EXPECT_EQ(result.output, "");
  EXPECT_EQ(result.exit_code, 0);
}

TEST(RunCommandTest, KeepsTheLastLinesOfManyErrors) {
  const auto result =
      run_command({"sh", "-c", "i=0; while [ $i -lt 3000 ]; do echo line $i >&2; i=$((i+1)); done"}, {});
  EXPECT_TRUE(result.value().last_lines.starts_with("line 2990 / "));
  EXPECT_TRUE(result.value().last_lines.ends_with("line 2999"));
}

TEST(RunCommandTest, AProgramThatIsMissingIsNamed) {
  const Status status = run_command({"no-such-program-here"}, {}).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message(), "no-such-program-here: cannot be started: No such file or directory");
}

TEST(RunCommandTest, ASignalIsAnExitCode) {
  EXPECT_EQ(run_command({"sh", "-c", "kill -9 $$"}, {}).value().exit_code, 128 + 9);
}

TEST(RunCommandTest, EndsWhatTakesTooLong) {
  const Stopwatch watch;
  const Status status = run_command({"sh", "-c", "echo started >&2; sleep 100"}, {.seconds = 0.2}).status();
  EXPECT_EQ(status.code(), Code::kBadData);
  EXPECT_EQ(status.message(), "sh: takes longer than 0.2 seconds; it printed: started");
  EXPECT_LT(watch.seconds(), 50);
}

TEST(RunCommandTest, EndsWhatIsNoLongerWanted) {
  const CommandOptions options{.keep_going = [] { return false; }};
  EXPECT_EQ(run_command({"sleep", "100"}, options).status().code(), Code::kInterrupted);
}

TEST(RunCommandTest, RefusesEndlessOutput) {
  const Status status = run_command({"yes"}, {.most_output = 1000}).status();
  EXPECT_EQ(status.message(), "yes: prints more than 1000 bytes");
}

}  // namespace
}  // namespace quarkq
