use super::frame::tests::assert_elements_nest;
use super::*;
use input::{Decoded, Decoder};

fn profile() -> UnifiedProfile {
    report::example::profile()
}

#[test]
fn it_has_every_section_that_the_profile_has() {
    let page = report(&UnifiedProfile { megascale: None, ..profile() });
    for id in ["summary", "ops", "devices", "transfers", "environment", "definitions", "warnings"] {
        assert_eq!(page.matches(&format!(" id=\"{id}\"")).count(), 1, "{id}");
    }
    assert!(!page.contains(" id=\"communication\""), "without collectives");
    assert!(page.contains("120 µs <span class=\"note\">± 400 ns over "), "{page}");
    assert!(page.contains("median 120 µs") && page.contains("Longest idle gaps"), "{page}");
    assert!(page.contains("Mean duration of the counted steps"), "{page}");
}

#[test]
fn the_largest_categories_are_named_if_no_rule_applies() {
    let profile = UnifiedProfile { findings: Vec::new(), ..profile() };
    assert!(report(&profile).contains("<strong>Most time: 60.5 % matmul, 39.5 % copy</strong>"));
}

#[test]
fn shares_of_ops_and_categories_are_of_busy_time() {
    let mut profile = profile();
    let op = report::TopOp {
        name: "transpose".to_owned(),
        self_time_percent: Some(1.4),
        busy_self_time_percent: Some(51.1),
        ..Default::default()
    };
    profile.op_statistics = Some(report::OpStatistics { top_ops: vec![op], ..Default::default() });
    let page = report(&profile);
    assert!(page.contains("51.1 %") && !page.contains("1.40 %") && !page.contains(">1.4 %"), "{page}");
    assert_eq!(page.matches(">Share of busy time<").count(), 1, "{page}");
}

#[test]
fn an_empty_profile_has_a_report_without_invented_numbers() {
    let page = report(&UnifiedProfile::default());
    assert_elements_nest(&page);
    for id in ["steps", "ops", "devices", "communication", "transfers", "findings", "warnings"] {
        assert!(!page.contains(&format!(" id=\"{id}\"")), "{id}");
    }
    assert!(!page.contains("0.00 %"), "{page}");
}

#[test]
fn texts_are_no_markup_and_elements_nest() {
    let page = report(&profile());
    assert!(page.contains("&lt;img onerror=x&gt;") && !page.contains("<img"));
    assert!(!page.contains("style=\"") && !page.contains("http://") && !page.contains("https://"));
    assert_eq!(page.matches("</script>").count(), 2);
    assert_elements_nest(&page);
}

#[test]
fn a_loaded_page_gives_the_same_profile() {
    let read = |text: String| {
        let mut decoder = Decoder::new("a file");
        text.as_bytes().chunks(1000).for_each(|bytes| decoder.push(bytes).unwrap());
        let Decoded::Profiles(found) = decoder.finish().unwrap() else { panic!("no profiles") };
        found.runs.into_iter().map(|run| run.profile).collect::<Vec<_>>()
    };
    let of_page = read(report(&profile()));
    assert_eq!(of_page, read(crate::json::profile(&profile())));
    assert_eq!(of_page.len(), 1);
}
