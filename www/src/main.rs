//! Entry point of the page: mounts the application on the document's body.

fn main() {
    console_error_panic_hook::set_once();
    leptos::mount::mount_to_body(www::app::App);
}
