-- add_image: keeps an image, if there is room.
-- In      name, bytes, by, the most images, the most bytes of all together
-- Out     one row: kept (it is there, since now or before)
-- Keeps   both bounds, but for what is added at the same moment
WITH used AS (SELECT count(*) AS images, coalesce(sum(size), 0) + length($2::bytea) AS bytes FROM images),
fits AS (SELECT images < $4::bigint AND bytes <= $5::bigint AS room FROM used),
added AS (
  INSERT INTO images (name, size, bytes, by) SELECT $1::text, length($2::bytea), $2::bytea, $3::text FROM fits WHERE room
  ON CONFLICT (name) DO NOTHING)
SELECT room OR EXISTS (SELECT FROM images WHERE name = $1::text) AS kept FROM fits
