#include "reports/terminal_sink.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "reports/mismatch_text.h"

namespace peelcheck {
namespace {

constexpr const char* kGreen = "32";
constexpr const char* kRed = "31";
constexpr const char* kYellow = "33";
constexpr const char* kBold = "1";

int TerminalWidth() {
  if (const char* columns = std::getenv("COLUMNS"); columns != nullptr && std::atoi(columns) > 0) {
    return std::atoi(columns);
  }
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 100;
}

void AppendOnce(std::vector<std::string>& list, const std::string& name) {
  if (std::find(list.begin(), list.end(), name) == list.end()) list.push_back(name);
}

// How bad a verdict is, for the worst of several dtypes.
int Severity(Verdict verdict) {
  if (IsFailure(verdict)) return 3;
  return verdict == Verdict::kInconclusive ? 2 : verdict == Verdict::kUnsupported ? 1 : 0;
}

}  // namespace

TerminalOptions TerminalOptionsFromEnvironment() {
  TerminalOptions options;
  const char* no_colour = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  const bool dumb = term != nullptr && std::string(term) == "dumb";
  options.colour =
      isatty(STDOUT_FILENO) == 1 && (no_colour == nullptr || *no_colour == '\0') && !dumb;
  options.progress = isatty(STDERR_FILENO) == 1 && !dumb ? &std::cerr : nullptr;
  options.width = TerminalWidth();
  return options;
}

TerminalSink::TerminalSink(const TerminalOptions& options)
    : options_(options), out_(options.report != nullptr ? *options.report : std::cout) {}

void TerminalSink::Begin(const RunInfo& info) {
  info_ = info;
  started_ = drawn_ = std::chrono::steady_clock::now();
}

void TerminalSink::OnMismatch(const Mismatch& mismatch) { mismatches_.push_back(mismatch); }

void TerminalSink::OnCell(const CellResult& cell) {
  AppendOnce(ops_, cell.id.op);
  AppendOnce(checks_, cell.id.check);
  const auto [at, fresh] = worst_.try_emplace({cell.id.op, cell.id.check}, cell.verdict);
  if (!fresh && Severity(cell.verdict) > Severity(at->second)) at->second = cell.verdict;
  for (const auto& [name, count] : cell.verdicts) verdicts_[name] += count;
  ++cells_done_;
  if (options_.progress != nullptr) DrawProgress();
}

void TerminalSink::DrawProgress() {
  using std::chrono::milliseconds;
  const auto now = std::chrono::steady_clock::now();
  // Quick runs stay quiet, and slow ones do not spend their time on drawing.
  if (now - started_ < milliseconds(500) || now - drawn_ < milliseconds(100)) return;
  drawn_ = now;
  constexpr int64_t kBar = 30;
  const int64_t filled = info_.cell_count == 0 ? 0 : kBar * cells_done_ / info_.cell_count;
  *options_.progress << absl::StrFormat("\r[%s%s] %d/%d cells, %d mismatches ",
                                        std::string(static_cast<size_t>(filled), '#'),
                                        std::string(static_cast<size_t>(kBar - filled), '-'),
                                        cells_done_, info_.cell_count, mismatches_.size())
                     << std::flush;
}

std::string TerminalSink::Coloured(const std::string& text, const char* code) const {
  return options_.colour ? absl::StrCat("\x1b[", code, "m", text, "\x1b[0m") : text;
}

std::string TerminalSink::Glyph(Verdict verdict) const {
  switch (verdict) {
    case Verdict::kPass: return Coloured(".", kGreen);
    case Verdict::kMismatch: return Coloured("F", kRed);
    case Verdict::kWrongError: return Coloured("E", kRed);
    case Verdict::kCrash: return Coloured("C", kRed);
    case Verdict::kTimeout: return Coloured("T", kRed);
    case Verdict::kNondeterministic: return Coloured("N", kRed);
    case Verdict::kVacuous: return Coloured("V", kRed);
    case Verdict::kInconclusive: return Coloured("?", kYellow);
    case Verdict::kUnsupported: return Coloured("u", kYellow);
  }
  return " ";
}

// Checks first..last-1 as columns. Each column is as wide as its heading.
void TerminalSink::PrintTableOf(size_t first, size_t last, size_t name_width) {
  std::string heading(name_width, ' ');
  for (size_t c = first; c < last; ++c) absl::StrAppend(&heading, " ", checks_[c]);
  out_ << Coloured(heading, kBold) << "\n";
  for (const std::string& op : ops_) {
    std::string line = op + std::string(name_width - op.size(), ' ');
    for (size_t c = first; c < last; ++c) {
      const auto at = worst_.find({op, checks_[c]});
      const size_t width = checks_[c].size();
      const std::string glyph = at == worst_.end() ? " " : Glyph(at->second);
      absl::StrAppend(&line, " ", std::string((width - 1) / 2, ' '), glyph,
                      std::string(width - 1 - (width - 1) / 2, ' '));
    }
    out_ << line.substr(0, line.find_last_not_of(' ') + 1) << "\n";
  }
}

void TerminalSink::PrintTable() {
  size_t name_width = 0;
  for (const std::string& op : ops_) name_width = std::max(name_width, op.size());
  for (size_t first = 0; first < checks_.size();) {
    size_t width = name_width;
    size_t last = first;
    while (last < checks_.size() && (last == first || width + 1 + checks_[last].size() <=
                                                          static_cast<size_t>(options_.width))) {
      width += 1 + checks_[last++].size();
    }
    PrintTableOf(first, last, name_width);
    out_ << "\n";
    first = last;
  }
}

void TerminalSink::PrintMismatches() {
  const size_t full = std::min(mismatches_.size(), options_.full_mismatches);
  for (size_t i = 0; i < full; ++i) out_ << RenderMismatch(mismatches_[i]) << "\n";
  if (full == mismatches_.size()) return;
  out_ << "and " << mismatches_.size() - full << " more, in results.jsonl and junit.xml in full:\n";
  for (size_t i = full; i < mismatches_.size(); ++i) {
    const Mismatch& m = mismatches_[i];
    out_ << "  " << m.id.op << " " << m.id.check << " " << m.id.dtype << ": " << m.summary
         << "; rerun: " << m.replay_command << "\n";
  }
  out_ << "\n";
}

void TerminalSink::End(const RunEnd& end) {
  if (options_.progress != nullptr) *options_.progress << "\r\x1b[K" << std::flush;
  PrintTable();
  PrintMismatches();
  if (end.interrupted)
    out_ << Coloured("interrupted: the report holds what was finished", kYellow) << "\n";
  out_ << absl::StrFormat("engine %s, seed %d: %d cells, %d cases, %d comparisons in %.1f s; ",
                          info_.engine, info_.seed, end.cells, end.cases, end.comparisons,
                          end.seconds);
  for (const auto& [name, count] : verdicts_) {
    if (name != "pass" && count > 0)
      out_ << count << (count == 1 ? " case " : " cases ") << name << ", ";
  }
  out_ << (end.mismatches == 0
               ? Coloured("no mismatch", kGreen)
               : Coloured(absl::StrCat(end.mismatches,
                                       end.mismatches == 1 ? " mismatch" : " mismatches"),
                          kRed))
       << "\n";
  if (end.exit_code == 3)
    out_ << Coloured("nothing was compared: that is a failure (exit code 3)", kRed) << "\n";
  out_ << std::flush;
}

}  // namespace peelcheck
