//! Parses types, template arguments and literals.

use super::{Argument, Parser, Text, join};

fn builtin(code: u8) -> Option<&'static str> {
    Some(match code {
        b'v' => "void",
        b'w' => "wchar_t",
        b'b' => "bool",
        b'c' => "char",
        b'a' => "signed char",
        b'h' => "unsigned char",
        b's' => "short",
        b't' => "unsigned short",
        b'i' => "int",
        b'j' => "unsigned int",
        b'l' => "long",
        b'm' => "unsigned long",
        b'x' => "long long",
        b'y' => "unsigned long long",
        b'n' => "__int128",
        b'o' => "unsigned __int128",
        b'f' => "float",
        b'd' => "double",
        b'e' => "long double",
        b'g' => "__float128",
        b'z' => "...",
        _ => return None,
    })
}

const LONGER_BUILTINS: &[(&str, &str)] = &[
    ("DF16b", "std::bfloat16_t"),
    ("DF16_", "_Float16"),
    ("Dh", "half"),
    ("Di", "char32_t"),
    ("Ds", "char16_t"),
    ("Du", "char8_t"),
    ("Dn", "decltype(nullptr)"),
    ("Da", "auto"),
];

impl Parser<'_> {
    /// Parses any type.
    pub(super) fn data_type(&mut self) -> Option<Text> {
        self.nested(Parser::any_type)
    }

    fn any_type(&mut self) -> Option<Text> {
        let code = self.peek()?;
        if let Some(name) = builtin(code) {
            self.at += 1;
            return Some(Text::new(name));
        }
        if let Some((code, name)) = LONGER_BUILTINS.iter().find(|(code, _)| self.starts_with(code)) {
            self.at += code.len();
            return Some(Text::new(*name));
        }
        let text = match code {
            b'P' => self.pointer("*")?,
            b'R' => self.pointer("&")?,
            b'O' => self.pointer("&&")?,
            b'K' => self.qualified(" const")?,
            b'V' => self.qualified(" volatile")?,
            b'r' => self.qualified(" __restrict")?,
            b'F' => self.function()?,
            b'A' => self.array()?,
            b'D' if self.eat("Dp") => return self.pack_expansion(),
            b'T' => {
                let text = self.template_parameter()?;
                // A template template parameter with separate arguments is not supported.
                if self.peek() == Some(b'I') {
                    return None;
                }
                text
            }
            b'S' if !self.starts_with("St") => {
                let at = self.at;
                let text = self.substitution()?;
                if self.peek() != Some(b'I') {
                    return Some(text);
                }
                self.at = at;
                self.name(false)?.text
            }
            b'u' => {
                self.at += 1;
                self.name(false)?.text
            }
            b'N' | b'Z' | b'S' | b'0'..=b'9' => self.name(false)?.text,
            _ => return None,
        };
        self.remember(&text)?;
        Some(text)
    }

    fn pointer(&mut self, sign: &str) -> Option<Text> {
        self.at += 1;
        let mut text = self.data_type()?;
        // References to references collapse. They occur through substitutions.
        if sign != "*" && text.left.ends_with('&') {
            let collapsed = text.left.trim_end_matches('&').to_owned();
            let both = sign == "&&" && text.left.ends_with("&&");
            text.left = format!("{collapsed}{}", if both { "&&" } else { "&" });
            return Some(text);
        }
        if text.right.starts_with(['(', ' ']) && !text.left.ends_with(['*', '&']) {
            text.left.push_str(if text.left.ends_with(' ') { "(" } else { " (" });
            text.right.insert(0, ')');
        }
        text.left.push_str(sign);
        Some(text)
    }

    fn qualified(&mut self, qualifier: &str) -> Option<Text> {
        self.at += 1;
        let mut text = self.data_type()?;
        // Qualifiers of references and functions have no effect, and a repeated qualifier is written once.
        if !text.left.ends_with('&') && !text.left.ends_with(qualifier) {
            text.left.push_str(qualifier);
        }
        Some(text)
    }

    /// Parses `FvPiE`: the return type, then the parameters.
    fn function(&mut self) -> Option<Text> {
        self.at += 1;
        self.eat("Y");
        let returned = self.data_type()?;
        let mut parameters = Vec::new();
        while self.peek()? != b'E' {
            parameters.push(self.data_type()?);
        }
        self.at += 1;
        let parameters = join(&parameters);
        let parameters = if parameters == "void" { "" } else { &parameters };
        let right = format!("({parameters}){}", returned.right);
        self.bounded(Text { left: format!("{} ", returned.left), right })
    }

    fn array(&mut self) -> Option<Text> {
        self.at += 1;
        let size = if self.peek()? == b'_' { String::new() } else { self.number()?.to_string() };
        if !self.eat("_") {
            return None;
        }
        let element = self.data_type()?;
        Some(Text { left: element.left, right: format!(" [{size}]{}", element.right) })
    }

    /// Parses `T_`, `T0_`, ...
    pub(super) fn template_parameter(&mut self) -> Option<Text> {
        self.at += 1;
        let index = self.sequence(10)?;
        let text = match self.arguments.get(index)? {
            Argument::One(text) => text.clone(),
            Argument::Pack(pack) => {
                self.pack_length = pack.len();
                match self.pack_index {
                    Some(index) => pack.get(index).cloned().unwrap_or_default(),
                    None => Text::new(join(pack)),
                }
            }
        };
        self.bounded(text)
    }

    /// Parses `Dp<pattern>`: repeats the pattern for each element of the pack that the pattern names.
    fn pack_expansion(&mut self) -> Option<Text> {
        let (start, before) = (self.at, self.substitutions.len());
        let outer = self.pack_index.replace(0);
        self.pack_length = 0;
        let mut elements = vec![self.data_type()?];
        let (end, length) = (self.at, self.pack_length);
        let after: Vec<Text> = self.substitutions.split_off(before);
        for index in 1..length {
            self.at = start;
            self.pack_index = Some(index);
            elements.push(self.data_type()?);
            self.substitutions.truncate(before);
        }
        self.substitutions.extend(after);
        self.at = end;
        self.pack_index = outer;
        elements.truncate(length);
        let text = self.bounded(Text::new(join(&elements)))?;
        self.remember(&text)?;
        Some(text)
    }

    /// Parses `I<arguments>E`.
    pub(super) fn template_arguments(&mut self) -> Option<Vec<Argument>> {
        self.at += 1;
        let mut arguments = Vec::new();
        while self.peek()? != b'E' {
            let argument = if self.eat("J") {
                let mut pack = Vec::new();
                while self.peek()? != b'E' {
                    pack.push(self.template_argument()?);
                }
                self.at += 1;
                Argument::Pack(pack)
            } else {
                Argument::One(self.template_argument()?)
            };
            arguments.push(argument);
        }
        self.at += 1;
        Some(arguments)
    }

    fn template_argument(&mut self) -> Option<Text> {
        match self.peek()? {
            b'L' => self.literal(),
            // Expressions are not supported.
            b'X' => None,
            _ => self.data_type(),
        }
    }

    /// Parses `Li256E`, `Lb1E`, `LN3foo4KindE2E`, `LDnE`.
    fn literal(&mut self) -> Option<Text> {
        self.at += 1;
        if self.eat("_Z") {
            let function = self.encoding(false)?;
            // If an argument is a function, only the function's name is written.
            let name = function.split('(').next().unwrap_or(&function).to_owned();
            return self.eat("E").then(|| Text::new(format!("&{name}")));
        }
        let code = self.peek()?;
        let named = self.data_type()?.whole();
        let start = self.at;
        while self.peek()? != b'E' {
            self.at += 1;
        }
        let digits = std::str::from_utf8(self.bytes.get(start..self.at)?).ok()?;
        self.at += 1;
        let value = match digits.strip_prefix('n') {
            Some(digits) => format!("-{digits}"),
            None => digits.to_owned(),
        };
        let text = match (code, value.as_str()) {
            (b'b', "0") => "false".to_owned(),
            (b'b', "1") => "true".to_owned(),
            (b'i', _) => value,
            (b'j', _) => format!("{value}u"),
            (b'l', _) => format!("{value}l"),
            (b'm', _) => format!("{value}ul"),
            (b'x', _) => format!("{value}ll"),
            (b'y', _) => format!("{value}ull"),
            (_, "") => format!("({named})0"),
            (b'f' | b'd', _) => format!("({named})[{value}]"),
            _ => format!("({named}){value}"),
        };
        Some(Text::new(text))
    }
}
