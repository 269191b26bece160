//! File names that the front chooses, and data paths that must survive a move of the file that names them.

use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use anyhow::Context;
use ipuc_device::package::{Data, MAGIC, Package, write_whole};

/// `directory` plus the name of `source` with another extension.
pub(super) fn beside(directory: &Path, source: &Path, extension: &str) -> PathBuf {
    let stem = source.file_stem().unwrap_or(source.as_os_str());
    let mut name = stem.to_owned();
    name.push(".");
    name.push(extension);
    directory.join(name)
}

/// The directory of a file; the current one if it has none.
pub(super) fn directory(file: &Path) -> &Path {
    match file.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

/// Whether a file begins as packages do.
pub(super) fn is_package(path: &Path) -> std::io::Result<bool> {
    let mut start = Vec::new();
    std::fs::File::open(path)?.take(MAGIC.len() as u64).read_to_end(&mut start)?;
    Ok(start == MAGIC)
}

/// Whether two paths lead to one file that exists.
pub(super) fn same_file(a: &Path, b: &Path) -> bool {
    a.canonicalize().is_ok_and(|a| b.canonicalize().is_ok_and(|b| a == b))
}

/// Writes a text file whole or not at all; makes its directory.
pub(super) fn write_text(path: &Path, text: &str) -> anyhow::Result<()> {
    let folder = directory(path);
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(write_whole(path, text.as_bytes())?)
}

/// Makes relative data paths, which start from the directory `from`, start from the directory `to`. Both must exist.
pub(super) fn rebase(package: &mut Package, from: &Path, to: &Path) -> anyhow::Result<()> {
    let graph = &mut package.manifest.graph;
    let data = graph.inputs.iter_mut().chain(&mut graph.weights).map(|tensor| &mut tensor.data);
    let mut prefix = None;
    for datum in data {
        let Data::File { path, .. } = datum else { continue };
        if Path::new(path).is_absolute() {
            continue;
        }
        if prefix.is_none() {
            let real = |path: &Path| path.canonicalize().with_context(|| format!("cannot find {}", path.display()));
            prefix = Some(relative(&real(from)?, &real(to)?));
        }
        let joined = prefix.as_ref().map(|prefix| prefix.join(&*path)).expect("set above");
        let text = joined.to_str().with_context(|| format!("path {} is not Unicode", joined.display()))?;
        text.clone_into(path);
    }
    Ok(())
}

/// The relative path that leads from `to` to `from`; both absolute and free of symbolic links.
fn relative(from: &Path, to: &Path) -> PathBuf {
    let (from, to): (Vec<Component>, Vec<Component>) = (from.components().collect(), to.components().collect());
    let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let up = std::iter::repeat_n(Component::ParentDir, to.len() - shared);
    up.chain(from[shared..].iter().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_ways() {
        assert_eq!(beside(Path::new("."), Path::new("a/b.model.json"), "o"), Path::new("./b.model.o"));
        assert_eq!(directory(Path::new("a.json")), Path::new("."));
        assert_eq!(directory(Path::new("x/a.json")), Path::new("x"));
        assert_eq!(relative(Path::new("/a/b/c"), Path::new("/a/d")), Path::new("../b/c"));
        assert_eq!(relative(Path::new("/a"), Path::new("/a")), Path::new(""));
        assert_eq!(relative(Path::new("/a"), Path::new("/a/.ipuc")), Path::new(".."));
    }
}
