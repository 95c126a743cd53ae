# Writes INPUT as a C++ array of bytes to OUTPUT.
file(READ ${INPUT} bytes HEX)
string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE ${OUTPUT} "#include \"apiserver/openapi.h\"\n\nnamespace cubeplane::apiserver {\nnamespace {\n"
  "constexpr unsigned char kBytes[] = {\n${bytes}\n};\n}  // namespace\n"
  "std::string_view OpenApiDocument() { return {reinterpret_cast<const char*>(kBytes), sizeof kBytes}; }\n"
  "}  // namespace cubeplane::apiserver\n")
