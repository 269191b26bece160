//! Which known word a misspelt one may mean.

/// The most similar of `known`, if it is similar enough to be meant; ties go to the first.
pub fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Long words are cut: a name of a megabyte must not cost a quadratic comparison.
    let short: String = word.chars().take(64).collect::<String>().to_lowercase();
    let allowed = (short.chars().count() / 3).clamp(1, 4);
    known
        .into_iter()
        .filter(|candidate| *candidate != word && candidate.len() <= 256)
        .map(|candidate| (strsim::damerau_levenshtein(&short, &candidate.to_lowercase()), candidate))
        .filter(|&(distance, candidate)| {
            // A one-letter name is not like every other one-letter name.
            distance <= allowed && distance < candidate.chars().count().max(short.chars().count())
        })
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

/// A list for a message: "`a`, `b` or `c`".
pub fn listed<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let words: Vec<String> = words.into_iter().map(|word| format!("`{word}`")).collect();
    match words.as_slice() {
        [] => "none".to_owned(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

/// A word of the user as messages show it: without control characters, cut to a length that a line holds.
pub fn shown(word: &str) -> String {
    const LONGEST: usize = 160;
    let mut shown: String = word.chars().take(LONGEST).flat_map(char::escape_debug).collect();
    if word.chars().nth(LONGEST).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_meant_word() {
        let known = ["name", "op", "inputs", "precision", "plan", "budget"];
        for (word, meant) in [
            ("preccision", Some("precision")),
            ("input", Some("inputs")),
            ("Plan", Some("plan")),
            ("nmae", Some("name")),
            ("po", Some("op")),
            ("colour", None),
            ("", None),
            ("x", None),
        ] {
            assert_eq!(did_you_mean(word, known), meant, "{word}");
        }
        assert_eq!(did_you_mean(&"x".repeat(1_000_000), known), None);
        assert_eq!(listed(["a", "b", "c"]), "`a`, `b` or `c`");
    }
}
