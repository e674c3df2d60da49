-- find_image: the bytes of an image.
-- In      name
-- Out     one row, if there is such an image: bytes
SELECT bytes FROM images WHERE name = $1
