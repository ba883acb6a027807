#!/usr/bin/env python3
"""The reader of C++ finds functions, classes and comments where they are, and nothing where they only seem to be."""
import unittest

import source


def functions(text):
    return [(s.qualified, s.first, s.end) for s in source.scopes(source.Source(text)) if s.kind == "function"]


class Reader(unittest.TestCase):
    def test_a_function_begins_at_its_declaration_and_ends_at_its_brace(self):
        self.assertEqual(functions("namespace a {\ntemplate <class T>\n  requires big<T> && small<T>\n"
                                   "[[nodiscard]] auto f(T x)\n    -> int {\n  return g({1, 2});\n}\n}\n"),
                         [("f", 2, 7)])

    def test_members_operators_constructors_and_friends_are_functions(self):
        text = ("class c {\n public:\n  c(int a) : a_{a}, b_(a) {}\n  ~c() {}\n"
                "  explicit operator bool() const { return a_; }\n"
                "  friend bool operator==(const c& x, const c& y) { return x.a_ == y.a_; }\n"
                "  void after() {\n    const auto l = [this](int i) { return i + a_; };\n  }\n private:\n  int a_{1};\n"
                "  int b_ = 2;\n};\n")
        self.assertEqual([name for name, _, _ in functions(text)],
                         ["c::c", "c::~c", "c::operatorbool", "c::operator==", "c::after"])

    def test_control_statements_and_lambdas_are_no_functions(self):
        self.assertEqual(functions("void f() {\n  if (a) {\n  } else {\n  }\n  for (int i : {1, 2}) {\n  }\n"
                                   "  g([](int) { return 1; });\n}\n"), [("f", 1, 8)])

    def test_member_functions_are_counted_whether_declared_or_defined(self):
        text = ("struct s : base<int> {\n  s() = default;\n  s(const s&) = delete;\n  void a();\n"
                "  virtual int b(int) const = 0;\n  std::function<void(int)> data;\n"
                "  void (*pointer)(int) = nullptr;\n  int more = f(3);\n  using t = int();\n"
                "  friend void g(s&);\n  static_assert(sizeof(int) == 4);\n  int c() { return 1; }\n  struct inner {\n"
                "    void not_of_s();\n  };\n};\n")
        kinds = {s.qualified: s.functions for s in source.scopes(source.Source(text)) if s.kind == "type"}
        self.assertEqual(kinds, {"s": ["s", "a", "b", "c"], "s::inner": ["not_of_s"]})

    def test_comments_and_literals_are_no_code(self):
        file = source.Source('int a = 1\'000;  // one { brace\nchar c = \'{\';\nauto s = "}";  /* two\n'
                             'lines */ int b;\nauto r = R"(})";\n')
        self.assertNotIn("{", file.code)
        self.assertNotIn("}", file.code)
        self.assertEqual(sorted(file.comments), [1, 3, 4])
        self.assertEqual(file.line(file.code.index("int b")), 4)

    def test_of_if_and_else_the_first_is_read(self):
        text = "void f() {\n#if A\n  if (x) {\n#else\n  if (y) {\n#endif\n  }\n}\nvoid g() {}\n"
        self.assertEqual([n for n, _, _ in functions(source.first_branches(text))], ["f", "g"])

    def test_a_path_has_a_module(self):
        paths = ["src/shunt/rail/detail/a.hpp", "src/shunt/rail.hpp", "apps/a.cpp", "README.md"]
        self.assertEqual([source.module_of(p) for p in paths], ["rail", "rail", "apps", "README.md"])


if __name__ == "__main__":
    unittest.main()
