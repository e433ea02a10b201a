use super::*;
use crate::html::frame::tests::assert_elements_nest;
use compare::example;
use input::{Decoded, Decoder};

fn report() -> String {
    html(&example::comparison(), &example::subjects())
}

#[test]
fn it_has_every_part() {
    let page = report();
    for id in [
        "summary",
        "fairness",
        "scored",
        "not-scored",
        "step-time",
        "waterfall",
        "median-steps",
        "scaling",
        "trend",
        "categories",
        "ops",
        "kernels",
        "collectives",
        "matching",
        "devices",
        "findings",
        "environment",
        "definitions",
        "warnings",
    ] {
        assert_eq!(page.matches(&format!(" id=\"{id}\"")).count(), 1, "{id}");
    }
    assert!(page.contains("▲ 2.00x faster") && page.contains("new is twice as fast as main."), "{page}");
    assert!(page.contains("Mean duration of the counted steps"), "{page}");
}

/// The elements of the page nest correctly, and text from a trace never becomes markup.
#[test]
fn texts_are_no_markup_and_elements_nest() {
    let page = report();
    assert!(page.contains("&lt;img onerror=x&gt;") && !page.contains("<img"));
    assert_eq!(page.matches("</script>").count(), 2);
    assert!(
        !page.contains("style=\"") && !page.contains("http://") && !page.contains("https://"),
        "nothing from elsewhere"
    );
    assert_elements_nest(&page);
}

#[test]
fn the_profiles_in_it_are_read_as_they_were() {
    let mut subjects = example::subjects();
    let picture = "7\t1000\tTPU:0\n=</script>\tdot.1\tmatmul\n#XLA Ops\n250\t125\t0";
    subjects.iter_mut().skip(1).for_each(|subject| subject.median_step = Some(picture.to_owned()));
    let page = html(&example::comparison(), &subjects);
    for chunk in [1000, usize::MAX] {
        let mut decoder = Decoder::new("report.html");
        page.as_bytes().chunks(chunk).for_each(|bytes| decoder.push(bytes).unwrap());
        let Decoded::Profiles(found) = decoder.finish().unwrap() else { panic!("no profiles") };
        let steps: Vec<_> = found.runs.iter().map(|run| run.median_step.as_deref()).collect();
        assert_eq!(steps, [None, Some(picture)]);
        let found: Vec<_> = found.runs.into_iter().map(|run| run.profile).collect();
        let given: Vec<_> = example::subjects().into_iter().map(|subject| subject.profile).collect();
        assert_eq!(found, given);
    }
}
