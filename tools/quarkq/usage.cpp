// SPDX-License-Identifier: MIT
#include "usage.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "base/suggest.h"

namespace quarkq::tool {
namespace {

/// "quarkq config show".
std::string full_name(const CLI::App& part) {
  return part.get_parent() == nullptr ? part.get_name() : full_name(*part.get_parent()) + " " + part.get_name();
}

/// The option that `argument` spells; empty when it is a value: a number may begin with a dash.
std::string option_name(const std::string& argument) {
  if (argument.size() < 2 || argument[0] != '-') return "";
  if (argument.starts_with("--")) return argument.substr(0, argument.find('='));
  return std::isalpha(static_cast<unsigned char>(argument[1])) != 0 ? argument.substr(0, 2) : "";
}

bool has_option(const CLI::App* part, const std::string& name) {
  for (; part != nullptr; part = part->get_parent()) {
    if (part->get_option_no_throw(name) != nullptr) return true;
  }
  return false;
}

std::string upper(std::string text) {
  for (char& letter : text) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  return text;
}

std::vector<std::string> long_names(const CLI::App* part) {
  std::vector<std::string> names;
  for (; part != nullptr; part = part->get_parent()) {
    for (const CLI::Option* option : part->get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
  }
  return names;
}

/// Types of options whose value is a text: a path, a name or a list of settings. Every other type has a value that is
/// never empty.
bool takes_text(const CLI::Option& option) {
  constexpr std::string_view kTexts[] = {"TEXT", "DIR", "NAME|FILE", "FILE", "[=FILE]", "native|ort", "INPUT="};
  const std::string type = option.get_type_name();
  return type.empty() || std::ranges::any_of(kTexts, [&](std::string_view text) { return type.starts_with(text); });
}

bool is_nan(const std::string& text) {
  char* end = nullptr;
  return std::isnan(std::strtod(text.c_str(), &end)) && end != text.c_str() && *end == '\0';
}

/// Options of other tools, and what has their effect here.
constexpr std::pair<std::string_view, std::string_view> kInstead[] = {{"--exclude", "--set 'exclude=[NODE]'"}};

std::string instead_of(const std::string& name, const std::vector<std::string>& known) {
  const auto* const row = std::ranges::find(kInstead, name, [](const auto& one) { return one.first; });
  return row == std::end(kInstead) ? did_you_mean(name, known) : cat(", give ", row->second);
}

/// Help with the type of a value once, without the library's notes on checks and counts.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override {
    constexpr std::pair<std::string_view, std::string_view> kShorter[] = {{":SIZE [b, kb(=1024b), ...]:POSITIVE", ""},
                                                                          {":NONNEGATIVE", ""},
                                                                          {"FLOAT:FLOAT in", "FLOAT in"},
                                                                          {":INT in", " in"}};
    std::string text = Formatter::make_option_opts(option);
    for (const auto& [from, to] : kShorter) {
      if (const size_t at = text.find(from); at != std::string::npos) text.replace(at, from.size(), to);
    }
    return text;
  }
  std::string make_option_usage(const CLI::Option* option) const override {
    const std::string name = make_option_name(option, /*is_positional=*/true);
    return option->get_required() ? name : cat("[", name, "]");
  }
};

}  // namespace

std::shared_ptr<CLI::FormatterBase> help_formatter() { return std::make_shared<HelpFormatter>(); }

std::string usage_line(const CLI::App& part) {
  std::string text = cat("usage: ", full_name(part), " [OPTION]...");
  if (!part.get_subcommands([](const CLI::App*) { return true; }).empty()) text += " VERB";
  for (const CLI::Option* option : part.get_options()) {
    if (!option->get_positional() && option->get_required())
      text += cat(" ", option->get_name(), " ", upper(option->get_lnames().front()));
  }
  for (const CLI::Option* option : part.get_options()) {
    if (option->get_positional()) text += " " + option->get_name(/*positional=*/true);
  }
  return text;
}

const CLI::App& part_of(const CLI::App& app, const std::vector<std::string>& arguments) {
  const CLI::App* part = &app;
  for (const std::string& word : arguments) {
    if (word.empty() || word[0] == '-') continue;
    const auto parts = part->get_subcommands([&](const CLI::App* one) { return one->get_name() == word; });
    if (!parts.empty()) part = parts.front();
  }
  return *part;
}

Status check_values(const CLI::App& part) {
  for (const CLI::Option* option : part.get_options()) {
    if (option->count() == 0 || option->get_items_expected_max() == 0 || takes_text(*option)) continue;
    for (const std::string& value : option->results()) {
      if (value.empty() || is_nan(value))
        return invalid_argument(option->get_name(), ": found ", value.empty() ? "an empty text" : value,
                                ", allowed is a value; leave the option out to set none");
    }
  }
  return part.get_parent() == nullptr ? Status() : check_values(*part.get_parent());
}

Status check_options_known(const CLI::App& part, const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments) {
    if (argument == "--") break;
    const std::string name = option_name(argument);
    if (name.empty() || has_option(&part, name)) continue;
    return invalid_argument(name, ": unknown option of ", full_name(part), instead_of(name, long_names(&part)));
  }
  return Status();
}

}  // namespace quarkq::tool
