#include "reports/junit_sink.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>

#include <cstdio>
#include <fstream>

#include "reports/mismatch_text.h"

namespace peelcheck {
namespace {

std::string CaseName(const CellId& id) { return absl::StrCat(id.check, "[", id.dtype, "]"); }

// Neither passed nor failed: nothing could be said of the cell.
bool IsSkipped(Verdict verdict) {
  return verdict == Verdict::kInconclusive || verdict == Verdict::kUnsupported;
}

const char* ElementOf(Verdict verdict) { return IsSkipped(verdict) ? "skipped" : "failure"; }

}  // namespace

std::string XmlEscaped(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '"': escaped += "&quot;"; break;
      case '\'': escaped += "&apos;"; break;
      case '\n':
      case '\t': escaped += c; break;
      default:
        if (static_cast<unsigned char>(c) >= 0x20) escaped += c;
    }
  }
  return escaped;
}

JunitSink::Suite& JunitSink::SuiteOf(const std::string& op) {
  if (suites_.empty() || suites_.back().name != op) suites_.push_back({op, {}, {}});
  return suites_.back();
}

void JunitSink::Begin(const RunInfo&) { suites_.clear(); }

void JunitSink::OnMismatch(const Mismatch& mismatch) {
  const std::string element = ElementOf(mismatch.verdict);
  // JUnit's <skipped> has no type.
  const std::string type = IsSkipped(mismatch.verdict)
                               ? ""
                               : absl::StrCat(" type=\"", VerdictName(mismatch.verdict), "\"");
  absl::StrAppend(&SuiteOf(mismatch.id.op).details[CaseName(mismatch.id)], "    <", element, type,
                  " message=\"", XmlEscaped(mismatch.summary), "\">",
                  XmlEscaped(RenderMismatch(mismatch)), "</", element, ">\n");
}

void JunitSink::OnCell(const CellResult& cell) { SuiteOf(cell.id.op).cells.push_back(cell); }

void JunitSink::End(const RunEnd&) {
  const std::string temporary = path_ + ".tmp";
  std::ofstream file(temporary, std::ios::trunc);
  file << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n";
  for (const Suite& suite : suites_) {
    size_t failures = 0, skipped = 0;
    for (const CellResult& cell : suite.cells) {
      failures += IsFailure(cell.verdict);
      skipped += IsSkipped(cell.verdict);
    }
    file << "<testsuite name=\"" << XmlEscaped(suite.name) << "\" tests=\"" << suite.cells.size()
         << "\" failures=\"" << failures << "\" skipped=\"" << skipped << "\">\n";
    for (const CellResult& cell : suite.cells) {
      file << "  <testcase classname=\"" << XmlEscaped(suite.name) << "\" name=\""
           << XmlEscaped(CaseName(cell.id)) << "\" time=\"" << absl::StrFormat("%.3f", cell.seconds)
           << "\"";
      const auto text = suite.details.find(CaseName(cell.id));
      const bool counted = IsFailure(cell.verdict) || IsSkipped(cell.verdict);
      if (text == suite.details.end() && !counted) {
        file << "/>\n";
        continue;
      }
      file << ">\n";
      if (text != suite.details.end()) {
        file << text->second;
      } else {
        file << "    <" << ElementOf(cell.verdict)
             << (IsSkipped(cell.verdict)
                     ? ""
                     : absl::StrCat(" type=\"", VerdictName(cell.verdict), "\""))
             << " message=\"" << VerdictName(cell.verdict) << "\"/>\n";
      }
      file << "  </testcase>\n";
    }
    file << "</testsuite>\n";
  }
  file << "</testsuites>\n";
  file.close();
  if (!file || std::rename(temporary.c_str(), path_.c_str()) != 0) {
    status_ = absl::UnavailableError("cannot write " + path_);
  }
}

}  // namespace peelcheck
