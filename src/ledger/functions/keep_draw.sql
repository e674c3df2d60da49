-- keep_draw: trigger function; what is set of a draw never changes.
-- In      the old and the new row of line_draws
-- Out     the new row, or an error
-- Keeps   a draw is made once: no other seed, seal, beacon or moment, whatever a statement says

CREATE OR REPLACE FUNCTION keep_draw() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT jsonb_strip_nulls(to_jsonb(NEW)) @> jsonb_strip_nulls(to_jsonb(OLD)) THEN
    RAISE EXCEPTION 'the draw of sale % can only go on: what is set stays', OLD.sale;
  END IF;
  RETURN NEW;
END
$$;
