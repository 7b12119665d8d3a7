//! Links the addon as Node.js expects it.

fn main() {
    napi_build::setup();
}
