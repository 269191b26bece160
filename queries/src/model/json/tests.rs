//! What the parser accepts, refuses and survives.

use proptest::prelude::*;

use super::*;

#[test]
fn accepts_json() {
    let text = r#" {"a": [1, -2.5e3, true, null, "x\u00e9\ud83d\ude00\n"], "b": {}} "#;
    let (node, defects) = parse(text);
    assert_eq!(defects, []);
    assert_eq!(node.to_value().to_string(), r#"{"a": [1, -2500.0, true, null, "xé😀\n"], "b": {}}"#);
    let key = node.members()[1].key_span;
    assert_eq!(&text[key.start as usize..key.end as usize], "\"b\"");
}

#[test]
fn goes_on_after_errors() {
    let table: &[(&str, &[&str])] = &[
        ("", &["the text is empty"]),
        ("{\"a\": 1 \"b\": 2}", &["expected `,` or the end"]),
        ("{\"a\": 1,}", &["a comma before the closing bracket"]),
        ("[1,2,]", &["a comma before the closing bracket"]),
        ("{a: 1}", &["the key `a` must stand in double quotes"]),
        ("{'a': 1}", &["strings take double quotes"]),
        ("{\"a\" 1, \"b\" = 2}", &["expected `:` after the key `a`", "expected `:` after the key `b`"]),
        ("{\"a\": }", &["expected a value, found `}`"]),
        ("{\"a\": [1, 2, \"b\": 3}", &["expected `,` or the end", "expected `]`, found `}`"]),
        ("{\"a\": {\"b\": 1]}", &["expected `}`, found `]`"]),
        ("{\"a\": [1", &["the text ends too early"]),
        ("{\"a\": \"x\n}", &["the string is not closed on its line"]),
        ("[01, +1, .5, 1., 1e, 0x10, 1e999]", &["`01`", "`+1`", "`.5`", "`1.`", "`1e`", "`0x10`", "`1e999`"]),
        ("[True, nan, foo]", &["`True`", "`nan`", "`foo`"]),
        ("// c\n{} # d", &["JSON has no comments", "JSON has no comments"]),
        ("{} {}", &["more text after the end of the value"]),
        ("{\"a\": 1, \"a\": 2}", &["the key `a` stands twice"]),
        ("[\"\\x\", \"\\ud800\", \"\\u12\"]", &["unknown escape", "half of a surrogate", "expected four hex"]),
        ("[,]", &["expected a value, found `,`"]),
    ];
    for (text, expected) in table {
        let (_, defects) = parse(text);
        let messages: Vec<&str> = defects.iter().map(|defect| defect.message.as_str()).collect();
        assert_eq!(messages.len(), expected.len(), "{text}: {messages:?}");
        for (message, start) in messages.iter().zip(*expected) {
            assert!(message.starts_with(start), "{text}: {message} / {start}");
        }
    }
}

#[test]
fn deep_nesting_is_refused() {
    for open in ["[", "{\"a\":", "[{\"a\":"] {
        let (_, defects) = parse(&open.repeat(100_000));
        assert!(defects.iter().any(|defect| defect.message.contains("nested deeper")));
    }
    assert_eq!(parse(&("[".repeat(DEEPEST) + &"]".repeat(DEEPEST))).1, []);
}

fn enclosed(node: &Node, outer: Span, text: &str) {
    let inside = |span: Span| {
        assert!(span.start <= span.end && span.start >= outer.start && span.end <= outer.end);
        assert!(text.is_char_boundary(span.start as usize) && text.is_char_boundary(span.end as usize));
    };
    inside(node.span);
    for member in node.members() {
        inside(member.key_span);
        enclosed(&member.value, node.span, text);
    }
    for item in node.items() {
        enclosed(item, node.span, text);
    }
}

proptest! {
    #[test]
    fn arbitrary_text_never_panics(text in "[\\[\\]{}:,\"'\\\\a-e0-9.eE+#/* \n\u{e9}\u{1f600}\u{0}-]{0,80}") {
        let (node, defects) = parse(&text);
        enclosed(&node, Span::new(0, text.len()), &text);
        for defect in &defects {
            prop_assert!(text.is_char_boundary(defect.span.start as usize), "{:?}", defect);
            prop_assert!(text.is_char_boundary(defect.span.end as usize), "{:?}", defect);
        }
        let strict = serde_json::from_str::<serde_json::Value>(&text);
        if defects.is_empty() {
            prop_assert!(strict.is_ok(), "accepted {text:?}, serde_json says {strict:?}");
        } else if strict.is_ok() {
            prop_assert!(defects.iter().all(|defect| defect.duplicate), "refused {text:?}: {defects:?}");
        }
    }
}
