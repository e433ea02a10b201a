//! Parses names: nested, local, templates, operators, lambdas.

use super::{Argument, Parser, Text, join};

/// A name, and properties that determine the text of the function's type.
pub(super) struct Name {
    pub text: Text,
    /// True if the last part of the name has template arguments. The text then contains the function's return type.
    template: bool,
    /// True for constructors and destructors, which have no return type.
    structor: bool,
    /// Qualifiers of a member function: ` const`.
    qualifiers: String,
}

impl Name {
    fn plain(text: impl Into<String>) -> Name {
        Name { text: Text::new(text), template: false, structor: false, qualifiers: String::new() }
    }
}

const OPERATORS: &[(&str, &str)] = &[
    ("cl", "operator()"),
    ("ix", "operator[]"),
    ("pl", "operator+"),
    ("mi", "operator-"),
    ("ml", "operator*"),
    ("dv", "operator/"),
    ("eq", "operator=="),
    ("ne", "operator!="),
    ("lt", "operator<"),
    ("gt", "operator>"),
    ("aS", "operator="),
    ("pL", "operator+="),
    ("nw", "operator new"),
    ("dl", "operator delete"),
];

impl Parser<'_> {
    /// Parses a function with its type, or the name of data. If `with_return` is true, adds a template's return type.
    /// Names inside other names omit the return type.
    pub(super) fn encoding(&mut self, with_return: bool) -> Option<String> {
        self.nested(|parser| {
            let name = parser.name(true)?;
            if matches!(parser.peek(), None | Some(b'E')) {
                return Some(name.text.whole());
            }
            let returned = if name.template && !name.structor { Some(parser.data_type()?) } else { None };
            let mut parameters = Vec::new();
            while !matches!(parser.peek(), None | Some(b'E')) {
                parameters.push(parser.data_type()?);
            }
            let parameters = join(&parameters);
            let parameters = if parameters == "void" { "" } else { &parameters };
            let function = format!("{}({parameters}){}", name.text.whole(), name.qualifiers);
            Some(match returned {
                Some(_) if !with_return => function,
                Some(returned) if returned.right.is_empty() => format!("{} {function}", returned.left),
                Some(returned) => format!("{}{function}{}", returned.left, returned.right),
                None => function,
            })
        })
    }

    /// Parses a name. `outermost` is true for the name of the function itself. The type of the function refers to the
    /// template arguments in this name.
    pub(super) fn name(&mut self, outermost: bool) -> Option<Name> {
        self.nested(|parser| match parser.peek()? {
            b'N' => parser.nested_name(outermost),
            b'Z' => parser.local_name(),
            b'S' if !parser.starts_with("St") => {
                let text = parser.substitution()?;
                if parser.peek() == Some(b'I') {
                    parser.template(Name { text, ..Name::plain("") }, outermost)
                } else {
                    None
                }
            }
            _ => {
                let in_std = parser.eat("St");
                let mut name = parser.unqualified("")?;
                if in_std {
                    name.text.left.insert_str(0, "std::");
                }
                if parser.peek() == Some(b'I') {
                    parser.remember(&name.text)?;
                    return parser.template(name, outermost);
                }
                Some(name)
            }
        })
    }

    /// Parses `N3foo3barIiEE`. Each prefix is a candidate for later substitutions.
    fn nested_name(&mut self, outermost: bool) -> Option<Name> {
        self.at += 1;
        let mut qualifiers = String::new();
        loop {
            match self.peek()? {
                b'K' => qualifiers.push_str(" const"),
                b'V' => qualifiers.push_str(" volatile"),
                b'r' => qualifiers.push_str(" __restrict"),
                b'R' if qualifiers.is_empty() => qualifiers.push_str(" &"),
                b'O' => qualifiers.push_str(" &&"),
                _ => break,
            }
            self.at += 1;
        }
        let mut name = Name::plain("");
        loop {
            match self.peek()? {
                b'E' => {
                    self.at += 1;
                    // The whole name is not a prefix. If it is a type, `any_type` records it.
                    self.substitutions.pop();
                    return Some(Name { qualifiers, ..name });
                }
                b'S' if self.starts_with("St") => {
                    self.at += 2;
                    name = Name::plain("std");
                    continue;
                }
                b'S' => {
                    name = Name { text: self.substitution()?, ..Name::plain("") };
                    // A substitution is not recorded again. A later pop must not remove another entry.
                    if self.peek()? == b'E' {
                        return None;
                    }
                    continue;
                }
                b'T' => name = Name { text: self.template_parameter()?, ..Name::plain("") },
                b'I' => name = self.template(name, outermost)?,
                _ => {
                    let scope = name.text.left.clone();
                    let part = self.unqualified(&scope)?;
                    let text = if scope.is_empty() { part.text.left } else { format!("{scope}::{}", part.text.left) };
                    let text = self.bounded(Text::new(text))?;
                    name = Name { text, structor: part.structor, ..Name::plain("") };
                }
            }
            self.remember(&name.text)?;
        }
    }

    /// Parses `Z<function>E<name>`: an entity inside a function.
    fn local_name(&mut self) -> Option<Name> {
        self.at += 1;
        // The function's own template arguments are valid only inside it.
        let outer = std::mem::take(&mut self.arguments);
        let function = self.encoding(false)?;
        if !self.eat("E") {
            return None;
        }
        let entity = if self.eat("s") { Name::plain("string literal") } else { self.name(false)? };
        self.arguments = outer;
        if self.eat("_") {
            self.number()?;
        }
        let text = self.bounded(Text::new(format!("{function}::{}", entity.text.whole())))?;
        Some(Name { text, ..entity })
    }

    /// Appends to a name the template arguments that follow it.
    fn template(&mut self, name: Name, outermost: bool) -> Option<Name> {
        let arguments = self.template_arguments()?;
        let mut texts = Vec::new();
        for argument in &arguments {
            match argument {
                Argument::One(text) => texts.push(text.clone()),
                Argument::Pack(pack) => texts.extend(pack.iter().cloned()),
            }
        }
        let list = join(&texts);
        let space = if list.ends_with('>') { " " } else { "" };
        let text = self.bounded(Text::new(format!("{}<{list}{space}>", name.text.whole())))?;
        if outermost {
            self.arguments = arguments;
        }
        Some(Name { text, template: true, ..name })
    }

    /// Parses one part of a name. `scope` is the text before this part. A constructor repeats the last part of `scope`.
    fn unqualified(&mut self, scope: &str) -> Option<Name> {
        // Internal linkage does not appear in the demangled name.
        self.eat("L");
        let name = match self.peek()? {
            b'0'..=b'9' => Name::plain(self.source_name()?),
            b'C' | b'D' => {
                let destructor = self.next()? == b'D';
                self.next().filter(u8::is_ascii_digit)?;
                let class = scope.split('<').next().unwrap_or(scope).rsplit("::").next().unwrap_or(scope);
                let sign = if destructor { "~" } else { "" };
                Name { structor: true, ..Name::plain(format!("{sign}{class}")) }
            }
            b'U' if self.eat("Ul") => self.lambda()?,
            b'U' if self.eat("Ut") => Name::plain(format!("{{unnamed type#{}}}", self.sequence(10)? + 1)),
            _ => {
                let (_, text) = OPERATORS.iter().find(|(code, _)| self.starts_with(code))?;
                self.at += 2;
                Name::plain(*text)
            }
        };
        let mut name = name;
        while self.eat("B") {
            let tag = self.source_name()?;
            name.text.left.push_str(&format!("[abi:{tag}]"));
        }
        Some(name)
    }

    fn lambda(&mut self) -> Option<Name> {
        let mut parameters = Vec::new();
        while self.peek()? != b'E' {
            parameters.push(self.data_type()?);
        }
        self.at += 1;
        let number = self.sequence(10)? + 1;
        let parameters = join(&parameters);
        let parameters = if parameters == "void" { "" } else { &parameters };
        Some(Name::plain(format!("{{lambda({parameters})#{number}}}")))
    }

    fn source_name(&mut self) -> Option<String> {
        let length = self.number()?;
        let bytes = self.bytes.get(self.at..self.at.checked_add(length)?)?;
        self.at += length;
        let text = std::str::from_utf8(bytes).ok()?;
        let anonymous = text.strip_prefix("_GLOBAL_").is_some_and(|rest| rest.get(1..2) == Some("N"));
        Some(if anonymous { "(anonymous namespace)" } else { text }.to_owned())
    }

    /// Parses `S_`, `S0_`, ... and the abbreviations of the standard library.
    pub(super) fn substitution(&mut self) -> Option<Text> {
        self.at += 1;
        let standard = match self.peek()? {
            b'a' => "std::allocator",
            b'b' => "std::basic_string",
            b's' => "std::string",
            b'i' => "std::istream",
            b'o' => "std::ostream",
            b'd' => "std::iostream",
            _ => {
                let index = self.sequence(36)?;
                let text = self.substitutions.get(index)?.clone();
                return self.bounded(text);
            }
        };
        self.at += 1;
        Some(Text::new(standard))
    }
}
