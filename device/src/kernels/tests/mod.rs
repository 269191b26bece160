mod sources;
mod tile;
