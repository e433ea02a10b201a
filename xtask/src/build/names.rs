//! Shortens the names that a program and its script share.
//!
//! In the program and in its script, wasm-bindgen names imports `__wbg_NAME_HASH` and closures
//! `wasm_bindgen__convert__..._HASH`. The hashes occur hundreds of times and do not compress. Only the program and its
//! script use these names.

use std::collections::HashMap;
use std::convert::Infallible;
use wasm_encoder::reencode::{self, Error, Reencode};
use wasm_encoder::{ExportSection, ImportSection, Module};
use wasmparser::{CustomSectionReader, Export, Import, ImportSectionReader, Parser, Payload};

/// Returns the program and its script with short names. The short names replace the names of all imports that the
/// script defines as `NAME: `, and of all closures that the script calls. Also removes custom sections, which only
/// record the tools that built the program.
pub(super) fn shorten(program: &[u8], script: &str) -> crate::Result<(Vec<u8>, String)> {
    let mut script = script.to_owned();
    let mut renamed = HashMap::new();
    let mut rename = |name: &str, [before, after]: [&str; 2]| {
        let long = format!("{before}{name}{after}");
        if !renamed.contains_key(name) && script.matches(&long).count() == 1 {
            let short = format!("n{}", renamed.len());
            script = script.replacen(&long, &format!("{before}{short}{after}"), 1);
            renamed.insert(name.to_owned(), short);
        }
    };
    for part in Parser::new(0).parse_all(program) {
        match part.map_err(|error| error.to_string())? {
            Payload::ImportSection(imports) => {
                for import in imports.into_imports() {
                    let import = import.map_err(|error| error.to_string())?;
                    rename(import.name, [" ", ": function("]);
                }
            }
            Payload::ExportSection(exports) => {
                for export in exports {
                    let name = export.map_err(|error| error.to_string())?.name;
                    if name.starts_with("wasm_bindgen__convert__") {
                        rename(name, ["wasm.", "("]);
                    }
                }
            }
            _ => {}
        }
    }
    let mut out = Module::new();
    let renamed = Rename(renamed).parse_core_module(&mut out, Parser::new(0), program);
    renamed.map_err(|error| error.to_string())?;
    Ok((out.finish(), script))
}

/// Rewrites a module, and replaces the names of its imports and exports.
struct Rename(HashMap<String, String>);

impl Reencode for Rename {
    type Error = Infallible;

    fn parse_import_section(
        &mut self,
        imports: &mut ImportSection,
        section: ImportSectionReader<'_>,
    ) -> Result<(), Error> {
        for import in section.into_imports() {
            let import = import?;
            let name = self.0.get(import.name).cloned();
            let renamed = Import { name: name.as_deref().unwrap_or(import.name), ..import };
            reencode::utils::parse_import(self, imports, renamed)?;
        }
        Ok(())
    }

    fn parse_export(&mut self, exports: &mut ExportSection, export: Export<'_>) -> Result<(), Error> {
        let name = self.0.get(export.name).cloned();
        reencode::utils::parse_export(self, exports, Export { name: name.as_deref().unwrap_or(export.name), ..export })
    }

    fn parse_custom_section(&mut self, _: &mut Module, _: CustomSectionReader<'_>) -> Result<(), Error> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::shorten;
    use wasm_encoder::{CustomSection, EntityType, ExportKind, Module, TypeSection};
    use wasmparser::{Parser, Payload};

    #[test]
    fn program_and_script_agree_on_the_new_names() {
        let mut module = Module::new();
        let mut types = TypeSection::new();
        types.ty().function([], []);
        module.section(&types);
        let mut imports = wasm_encoder::ImportSection::new();
        for name in ["__wbg_log_0123456789abcdef", "__wbg_other_0123456789abcdef", "kept", "__wbg_log_0123456789abcdef"]
        {
            imports.import("./page.js", name, EntityType::Function(0));
        }
        module.section(&imports);
        let mut exports = wasm_encoder::ExportSection::new();
        for name in ["wasm_bindgen__convert__a_1", "wasm_bindgen__convert__a", "main"] {
            exports.export(name, ExportKind::Func, 0);
        }
        module.section(&exports);
        module.section(&CustomSection { name: "producers".into(), data: b"0".as_slice().into() });
        let script = "{ __wbg_log_0123456789abcdef: function() {}, kept: function() {} }; wasm.wasm_bindgen__convert__a_1(); wasm.wasm_bindgen__convert__a(); wasm.main()";
        let (program, script) = shorten(&module.finish(), script).unwrap();
        assert_eq!(script, "{ n0: function() {}, n1: function() {} }; wasm.n2(); wasm.n3(); wasm.main()");
        let mut names = Vec::new();
        for part in Parser::new(0).parse_all(&program) {
            match part.unwrap() {
                Payload::ImportSection(imports) => {
                    names.extend(imports.into_imports().map(|import| import.unwrap().name.to_owned()));
                }
                Payload::ExportSection(exports) => {
                    names.extend(exports.into_iter().map(|export| export.unwrap().name.to_owned()));
                }
                Payload::CustomSection(section) => panic!("{} is left", section.name()),
                _ => {}
            }
        }
        // Names that the script does not define in that form are kept.
        assert_eq!(names, ["n0", "__wbg_other_0123456789abcdef", "n1", "n0", "n2", "n3", "main"]);
    }
}
