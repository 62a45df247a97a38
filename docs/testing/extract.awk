# Makes a GoogleTest of a Markdown file: awk -v name=engine -f extract.awk docs/engine.md > engine_doc.cc
#
#   ```cpp        code at file scope, in the order of the document
#   ```cpp run    the body of a test; a ```text block right after it is what it has to print
#
# Other blocks are left alone.
BEGIN {
  print "// Made of a document by docs/testing/extract.awk; edit the document."
  print "#include \"docs/testing/prelude.h\""
}
/^```/ {
  if (!inside) {
    inside = 1
    kind = substr($0, 4)
    block = ""
    first_line = FNR
    next
  }
  inside = 0
  if (kind == "text" && pending != "") { Finish(block); next }
  Finish("")
  if (kind == "cpp run") { pending = block; pending_line = first_line; next }
  if (kind == "cpp") {
    print "namespace peelcheck {\n#line " first_line + 1 " \"" FILENAME "\""
    print block "}  // namespace peelcheck"
  }
  next
}
inside { block = block $0 "\n" }
END { Finish("") }

# Writes the test whose code waits, now that it is known whether output is expected.
function Finish(expected) {
  if (pending == "") return
  print "namespace peelcheck {"
  print "TEST(docs, " name "_" pending_line ") {"
  print "  testing::internal::CaptureStdout();"
  print "  {\n#line " pending_line + 1 " \"" FILENAME "\""
  print pending "  }"
  print "  const std::string printed = testing::internal::GetCapturedStdout();"
  if (expected != "") print "  EXPECT_EQ(printed, R\"doc(" expected ")doc\");"
  else print "  EXPECT_EQ(printed, \"\") << \"a text block with this output is missing in the document\";"
  print "}\n}  // namespace peelcheck"
  pending = ""
}
