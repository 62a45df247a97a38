#include "reports/mismatch_text.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>

namespace peelcheck {

std::string IndexToString(const std::vector<int64_t>& index) {
  std::string text = "[";
  for (size_t i = 0; i < index.size(); ++i) absl::StrAppend(&text, i > 0 ? ", " : "", index[i]);
  return text + "]";
}

namespace {

void AppendSample(const Mismatch& m, std::string* text) {
  absl::StrAppend(text, "  sample (", m.sample_class, ", shrunk)\n");
  for (const std::string& attribute : m.attributes) absl::StrAppend(text, "    ", attribute, "\n");
  for (const std::string& input : m.inputs) absl::StrAppend(text, "    ", input, "\n");
}

void AppendNumbers(const Mismatch& m, std::string* text) {
  if (m.worst_index.empty() && m.compared == 0) return;
  absl::StrAppendFormat(text, "  %d of %d elements differ; first at %s, worst at %s:\n",
                        m.differing, m.compared, IndexToString(m.first_index),
                        IndexToString(m.worst_index));
  absl::StrAppendFormat(
      text, "    engine %.10g, oracle %.10g: absolute error %.3g, relative %.3g, bound %.3g\n",
      m.worst_engine_value, m.worst_oracle_value, m.absolute_error, m.relative_error, m.bound);
}

}  // namespace

std::string RenderMismatch(const Mismatch& m) {
  std::string text =
      absl::StrCat(m.id.op, "  ", m.id.check, "  ", m.id.dtype, ": ", VerdictName(m.verdict), "\n");
  absl::StrAppend(&text, "  ", m.summary, "\n");
  absl::StrAppend(&text, "  program: ", m.stack, "\n");
  AppendSample(m, &text);
  if (!m.engine_result.empty())
    absl::StrAppend(&text, "  engine ", m.engine_name, ": ", m.engine_result, "\n");
  if (!m.oracle_result.empty())
    absl::StrAppend(&text, "  oracle ", m.oracle, ": ", m.oracle_result, "\n");
  AppendNumbers(m, &text);
  for (const std::string& line : m.evidence) absl::StrAppend(&text, "  ", line, "\n");
  absl::StrAppend(&text, "  entry: ", m.entry_file, ":", m.entry_line, "\n");
  absl::StrAppend(&text, "  rerun: ", m.replay_command, "\n");
  return text;
}

}  // namespace peelcheck
