//! What people and programs see of a problem.

use expect_test::{Expect, expect};
use ipuc::render::{Source, diagnostics, summary};
use ipuc_queries::diagnostics::{Problem, codes};
use ipuc_queries::model::{Edit, LineIndex, SourceMap, Value, parse, resolve};

fn with_source<T>(text: &str, file: &str, edits: &[Edit], use_it: impl Fn(&[Problem], &Source) -> T) -> T {
    let (ast, mut problems) = parse(text);
    problems.extend(resolve(&ast, edits).problems);
    let (map, lines) = (SourceMap::new(&ast), LineIndex::new(text));
    use_it(&problems, &Source { file, text, map: &map, lines: &lines })
}

fn check(text: &str, edits: &[Edit], expected: Expect) {
    let rendered = with_source(text, "model.json", edits, |problems, source| {
        let all: Vec<String> =
            diagnostics(problems, source, false).into_iter().map(|diagnostic| diagnostic.rendered).collect();
        all.join("\n\n") + "\n"
    });
    expected.assert_eq(&rendered);
}

const MODEL: &str = r#"{
  "name": "m",
  "inputs": { "x": { "shape": [1024, 512], "dtype": "f16" } },
  "weights": {
    "w": { "shape": [500, 256], "dtype": "f16", "random": { "normal": 0.1 } }
  },
  "ops": [
    { "name": "fc1", "op": "gemm", "inputs": ["x", "w"] }
  ],
  "outputs": ["fc1"]
}
"#;

#[test]
fn shapes_show_both_operands_and_the_rule() {
    check(
        MODEL,
        &[],
        expect![[r#"
        error[E0004]: `fc1`: left operand [1024, 512] has K = 512, right operand [500, 256] has K = 500
         --> model.json:8:46
          |
        3 |   "inputs": { "x": { "shape": [1024, 512], "dtype": "f16" } },
          |                               ----------- left operand [.., M, K]: K = 512
        4 |   "weights": {
        5 |     "w": { "shape": [500, 256], "dtype": "f16", "random": { "normal": 0.1 } }
          |                     ---------- right operand [K, N]: K = 500, N = 256
        ...
        8 |     { "name": "fc1", "op": "gemm", "inputs": ["x", "w"] }
          |                                              ^^^^^^^^^^ the last extent of the left operand must equal the first of the right one
          |
          = note: gemm: left [.., M, K] x right [K, N] -> [.., M, N]
    "#]],
    );
}

#[test]
fn unknown_keys_show_what_was_meant() {
    let text = MODEL.replace("500", "512").replace("\"op\"", "\"preccision\": \"f16\", \"op\"");
    check(
        &text,
        &[],
        expect![[r#"
            error[E0002]: unknown key `preccision` in `ops.fc1`
             --> model.json:8:22
              |
            8 |     { "name": "fc1", "preccision": "f16", "op": "gemm", "inputs": ["x", "w"] }
              |                      ^^^^^^^^^^^^ did you mean `precision`?
              |
              = note: keys of an operator: `name`, `op`, `inputs`, `precision`, `plan` or `budget`
              = help: rename it to `precision`
        "#]],
    );
}

#[test]
fn syntax_at_the_end_of_the_text() {
    check(
        "{\n  \"name\": \"é\",\n  \"ops\": [",
        &[],
        expect![[r#"
            error[E0001]: the text ends too early
             --> model.json:3:11
              |
            3 |   "ops": [
              |          -^ expected `]`
              |          |
              |          opened here
        "#]],
    );
    check(
        "",
        &[],
        expect![[r"
        error[E0001]: the text is empty
         --> model.json:1:1
          |
        1 |
          | ^ expected `{`
    "]],
    );
}

#[test]
fn edits_are_shown_at_the_nearest_place() {
    check(
        &MODEL.replace("500", "512"),
        &[Edit::typed("target.tiles", "9999")],
        expect![[r"
        error[E0005]: `target.tiles` must be from 1 to 1472, found 9999
         --> model.json:1:1
          |
        1 | {
          | ^ not from 1 to 1472
          |
          = note: `target.tiles` is set to 9999 from outside the file
    "]],
    );
}

#[test]
fn json_has_the_fields_of_the_contract() {
    let mut problem =
        Problem::new(codes::EXCHANGE_TABLES, "exchange tables exceed per-tile budget: 99104 bytes, limit 81920 bytes")
            .entity("ops.fc1", "its phases need most")
            .datum("needed", 99104u32)
            .datum("limit", 81920u32)
            .suggest(
                "pin a coarser grid",
                vec![Edit::set("ops.fc1.plan.grid", [8u32, 8, 1].into_iter().collect::<Value>())],
            );
    problem.suggestions[0].effect.push(("exchange_table_bytes".to_owned(), Value::from(80000u32)));
    let json = with_source(MODEL, "dir/model.json", &[], |_, source| {
        let all = diagnostics(std::slice::from_ref(&problem), source, false);
        serde_json::to_string_pretty(&all[0].json).expect("JSON")
    });
    expect![[r#"
        {
          "code": "E3001",
          "data": {
            "limit": 81920,
            "needed": 99104
          },
          "file": "dir/model.json",
          "level": "error",
          "message": "exchange tables exceed per-tile budget: 99104 bytes, limit 81920 bytes",
          "notes": [],
          "reason": "diagnostic",
          "rendered": "error[E3001]: exchange tables exceed per-tile budget: 99104 bytes, limit 81920 bytes\n --> dir/model.json:8:15\n  |\n8 |     { \"name\": \"fc1\", \"op\": \"gemm\", \"inputs\": [\"x\", \"w\"] }\n  |               ^^^^^ its phases need most\n  |\n  = help: pin a coarser grid: ops.fc1.plan.grid = [8, 8, 1] (exchange_table_bytes: 80000)",
          "spans": [
            {
              "end": {
                "byte": 208,
                "column": 20,
                "line": 8
              },
              "label": "its phases need most",
              "path": "ops.fc1",
              "primary": true,
              "start": {
                "byte": 203,
                "column": 15,
                "line": 8
              }
            }
          ],
          "suggestions": [
            {
              "edits": [
                {
                  "path": "ops.fc1.plan.grid",
                  "value": [
                    8,
                    8,
                    1
                  ]
                }
              ],
              "effect": {
                "exchange_table_bytes": 80000
              },
              "message": "pin a coarser grid"
            }
          ]
        }"#]].assert_eq(&json);
}

#[test]
fn columns_count_characters_and_styles_are_optional() {
    let text = MODEL.replace("\"m\"", "\"é😀\", \"nmae\": 1");
    with_source(&text, "model.json", &[], |problems, source| {
        let plain = diagnostics(problems, source, false);
        let styled = diagnostics(problems, source, true);
        assert_eq!(plain[0].json["spans"][0]["start"]["column"], 17);
        assert_eq!(plain[0].json["spans"][0]["start"]["line"], 2);
        assert!(plain[0].rendered.starts_with("error[E0002]: unknown key `nmae`"));
        assert!(styled[0].rendered.contains('\u{1b}') && !plain[0].rendered.contains('\u{1b}'));
        assert_eq!(summary(problems, "model.json").as_deref(), Some("2 errors in model.json"));
        assert_eq!(summary(&[], "model.json"), None);
    });
}

/// The renderer panics on spans outside the text: none may occur, whatever the text.
#[test]
fn broken_texts_are_rendered() {
    for end in (0..=MODEL.len()).filter(|&end| MODEL.is_char_boundary(end)) {
        for text in [MODEL[..end].to_owned(), MODEL[end..].to_owned(), format!("{}\t\r\n\u{1}é", &MODEL[..end])] {
            with_source(&text, "model.json", &[Edit::set("target.tiles", 0u32)], |problems, source| {
                let all = diagnostics(problems, source, false);
                assert!(all.iter().all(|diagnostic| diagnostic.rendered.contains("model.json")));
            });
        }
    }
}
