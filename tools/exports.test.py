#!/usr/bin/env python3
"""The list of exports follows from symbols and headers, by the rules of exports.py."""
import re
import unittest

import exports

HEADER = """
namespace shunt { inline namespace v1 {
namespace rail {
class line { public: void open(); };
void listen();
inline int shown = 0;
namespace detail {
class engine : public base { public: engine(); void start(); void tune(); virtual void poll(); };
class hidden;
extern int table;
int helper();
inline int twice() { return helper() + table; }
inline void go(engine& e) { e.start(); }
}
}
}}
"""


class Planted(exports.Headers):
    def __init__(self, text):
        code = exports.Code(text)
        self.literals, self.every, self.of = text, code, {"rail": code}
        self.namespaces = set(re.findall(r"namespace (\w+)", text))


class Exports(unittest.TestCase):
    def pattern(self, kind, name, text=HEADER):
        return exports.pattern(exports.Symbol(kind, name), Planted(text))

    def test_public_functions_and_classes_are_exported(self):
        self.assertEqual(self.pattern("T", "shunt::v1::rail::line::open()"), "shunt::v1::rail::line::*")
        listen = "shunt::v1::rail::listen"
        self.assertEqual(self.pattern("T", listen + "()"), listen + exports.END_OF_NAME)
        self.assertEqual(self.pattern("V", "shunt::v1::rail::shown"), "shunt::v1::rail::shown")

    def test_what_no_installed_header_declares_is_not(self):
        self.assertIsNone(self.pattern("T", "shunt::v1::rail::of_the_source(int)"))
        self.assertIsNone(self.pattern("T", "shunt::v1::rail::(anonymous namespace)::listen()"))
        self.assertIsNone(self.pattern("W", "std::vector<shunt::v1::rail::line>::~vector()"))

    def test_of_private_parts_what_headers_call_is_exported_and_what_they_only_declare_is_not(self):
        detail = "shunt::v1::rail::detail::"
        self.assertEqual(self.pattern("T", detail + "helper()"), detail + "helper" + exports.END_OF_NAME)
        self.assertEqual(self.pattern("T", detail + "engine::start()"), detail + "engine::start" + exports.END_OF_NAME)
        self.assertEqual(self.pattern("D", detail + "table"), detail + "table")
        self.assertIsNone(self.pattern("T", detail + "engine::tune()"))

    def test_a_virtual_function_is_exported_for_tables_of_derived_classes(self):
        self.assertIsNotNone(self.pattern("T", "shunt::v1::rail::detail::engine::poll()"))

    def test_a_private_class_that_no_installed_header_defines_is_hidden(self):
        self.assertIsNone(self.pattern("T", "shunt::v1::rail::detail::hidden::start()"))
        self.assertIsNone(self.pattern("V", "typeinfo for shunt::v1::rail::detail::hidden"))
        self.assertEqual(self.pattern("V", "typeinfo for shunt::v1::rail::detail::engine"),
                         "*?for?shunt::v1::rail::detail::engine")

    def test_parameters_templates_and_results_are_no_part_of_a_name(self):
        self.assertEqual(exports.split("void shunt::v1::f<a::b>(c::d)"), ["shunt", "v1", "f"])
        self.assertEqual(exports.split("shunt::v1::x::operator()(a::b) const"), ["shunt", "v1", "x", "operator()"])
        self.assertEqual(exports.split("shunt::v1::f(a::b)::once"), ["shunt", "v1", "f", "once"])

    def test_the_written_list_reads_as_what_it_was_made_from(self):
        patterns = ["*?for?shunt::v1::error", "shunt::v1::rail::listen" + exports.END_OF_NAME, "shunt_x_v1"]
        self.assertEqual(sorted(exports.listed(exports.text(patterns))), sorted(patterns + exports.STANDARD))

    def test_a_private_symbol_is_no_longer_known_when_its_header_lost_it(self):
        self.assertTrue(exports.known("*?for?shunt::v1::rail::detail::engine", Planted(HEADER)))
        self.assertFalse(exports.known("*?for?shunt::v1::rail::detail::gone", Planted(HEADER)))
        self.assertFalse(exports.known("shunt::v1::rail::detail::tune" + exports.END_OF_NAME, Planted(HEADER)))


if __name__ == "__main__":
    unittest.main()
