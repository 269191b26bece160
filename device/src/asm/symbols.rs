//! Symbols of one source: labels, set values, and names that stay undefined.

use std::collections::BTreeMap;

use super::expression::{Expression, SectionId, SymbolId, Value, evaluate};
use super::text::Position;

/// Symbols that are set to each other at most.
const MAXIMUM_CHAIN: u32 = 50;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binding {
    Local,
    Global,
    Weak,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    None,
    Object,
    Function,
}

#[derive(Clone, Debug)]
pub(super) enum Definition {
    Undefined,
    Label { section: SectionId, offset: u32 },
    Set(Expression),
}

#[derive(Clone, Debug)]
pub(super) struct Symbol {
    pub(super) name: String,
    pub(super) definition: Definition,
    pub(super) binding: Binding,
    pub(super) hidden: bool,
    pub(super) kind: Type,
    pub(super) size: Option<(Expression, Position)>,
    /// Predefined by the assembler, so not part of the object.
    pub(super) predefined: bool,
    pub(super) at: Position,
}

impl Symbol {
    /// `.L` names and numbers stay inside the assembler.
    pub(super) fn is_temporary(&self) -> bool {
        self.name.starts_with(".L") || self.name.starts_with('\u{1}')
    }
}

#[derive(Default)]
pub(super) struct Symbols {
    pub(super) list: Vec<Symbol>,
    by_name: BTreeMap<String, SymbolId>,
    /// How often each number has been a label so far.
    locals: BTreeMap<u32, u32>,
}

impl Symbols {
    pub(super) fn find(&self, name: &str) -> Option<SymbolId> {
        self.by_name.get(name).copied()
    }

    /// The symbol of a name, made when it is new.
    pub(super) fn intern(&mut self, name: &str) -> SymbolId {
        if let Some(id) = self.find(name) {
            return id;
        }
        let id = self.list.len();
        self.list.push(Symbol {
            name: name.to_owned(),
            definition: Definition::Undefined,
            binding: Binding::Local,
            hidden: false,
            kind: Type::None,
            size: None,
            predefined: false,
            at: Position::default(),
        });
        self.by_name.insert(name.to_owned(), id);
        id
    }

    pub(super) fn is_defined(&self, name: &str) -> bool {
        self.find(name).is_some_and(|id| !matches!(self.list[id].definition, Definition::Undefined))
    }

    /// Begins the next label of a number and gives its hidden name.
    pub(super) fn define_local(&mut self, number: u32) -> String {
        let count = self.locals.entry(number).or_insert(0);
        *count += 1;
        local_name(number, *count)
    }

    /// The symbol that `1f` or `1b` means here.
    pub(super) fn local(&mut self, number: u32, forward: bool) -> Result<SymbolId, String> {
        let count = self.locals.get(&number).copied().unwrap_or(0);
        if !forward && count == 0 {
            return Err(format!("no label `{number}:` before this line"));
        }
        Ok(self.intern(&local_name(number, count + u32::from(forward))))
    }

    /// How a symbol is called in messages.
    pub(super) fn display(&self, id: SymbolId) -> String {
        match self.list[id].name.strip_prefix('\u{1}').and_then(|n| n.split_once('\u{1}')) {
            Some((number, _)) => format!("{number}f"),
            None => self.list[id].name.clone(),
        }
    }

    /// What an expression comes to with the definitions made so far.
    pub(super) fn evaluate(&self, expression: &Expression) -> Result<Value, String> {
        self.evaluate_within(expression, 0)
    }

    fn evaluate_within(&self, expression: &Expression, depth: u32) -> Result<Value, String> {
        evaluate(expression, &mut |id| {
            let symbol = &self.list[id];
            let named = (symbol.binding != Binding::Local).then_some((id, 0));
            match &symbol.definition {
                Definition::Undefined => Ok(Value::Undefined { symbol: id, addend: 0 }),
                Definition::Label { section, offset } => {
                    Ok(Value::Place { section: *section, offset: i64::from(*offset), symbol: named })
                }
                Definition::Set(_) if depth >= MAXIMUM_CHAIN => {
                    Err(format!("`{}` is set to itself or through too many symbols", symbol.name))
                }
                Definition::Set(value) => self.evaluate_within(value, depth + 1),
            }
        })
    }
}

fn local_name(number: u32, count: u32) -> String {
    format!("\u{1}{number}\u{1}{count}")
}
