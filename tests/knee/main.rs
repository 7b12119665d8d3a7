//! The knee controller: that it decides by its rules, and what these rules achieve.

mod agreement;
mod base;
mod drops;
mod flights;
mod growth;
mod one_page;
mod plant;
mod safety;
mod steady;
mod world;
