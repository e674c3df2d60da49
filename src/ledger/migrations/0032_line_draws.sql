-- line_draws: the draw of a waiting line: its seed, what was published of it, what the joins were sealed to, the beacon, and when it was drawn.
-- In      sales of 0001, lines of the waiting line
-- Out     line_draws; triggers draw_kept on it, and line_sealed on lines
-- Keeps   opened → sealed → beacon → drawn, each once: what is set never changes. A join that is written after seals_at is not drawn

-- seed: secret until drawn_at is set. joins, leaves, root: lines.numbers, lines.leaves and lines.head at the seal. A draw without beacon_source needs no value.
CREATE TABLE line_draws (
  sale             bigint PRIMARY KEY REFERENCES sales (id) ON DELETE CASCADE,
  algorithm        text NOT NULL,
  seed             bytea NOT NULL CHECK (length(seed) = 32),
  commitment       bytea NOT NULL CHECK (commitment = sha256(seed)),
  seals_at         timestamptz NOT NULL,
  beacon_source    text,
  beacon_round     bigint CHECK (beacon_round IS NULL OR beacon_source IS NOT NULL),
  opened_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
  sealed_at        timestamptz CHECK (sealed_at >= seals_at),
  joins            int CHECK ((joins IS NULL) = (sealed_at IS NULL)),
  leaves           int CHECK ((leaves IS NULL) = (sealed_at IS NULL)),
  root             bytea CHECK ((root IS NULL) = (sealed_at IS NULL)),
  beacon_value     text CHECK (beacon_value IS NULL OR (beacon_source IS NOT NULL AND sealed_at IS NOT NULL)),
  beacon_signature text,
  beacon_by        text,
  beacon_at        timestamptz,
  drawn_at         timestamptz CHECK (drawn_at IS NULL OR (sealed_at IS NOT NULL AND (beacon_source IS NULL) = (beacon_value IS NULL)))
);

CREATE FUNCTION keep_draw() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT jsonb_strip_nulls(to_jsonb(NEW)) @> jsonb_strip_nulls(to_jsonb(OLD)) THEN
    RAISE EXCEPTION 'the draw of sale % can only go on: what is set stays', OLD.sale;
  END IF;
  RETURN NEW;
END
$$;
CREATE TRIGGER draw_kept BEFORE UPDATE ON line_draws FOR EACH ROW EXECUTE FUNCTION keep_draw();

CREATE FUNCTION seal_before_join() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE line_draws SET sealed_at = clock_timestamp(), joins = OLD.numbers, leaves = OLD.leaves, root = OLD.head
  WHERE sale = OLD.sale AND sealed_at IS NULL AND seals_at <= clock_timestamp();
  RETURN NEW;
END
$$;
CREATE TRIGGER line_sealed BEFORE UPDATE OF numbers, leaves ON lines FOR EACH ROW EXECUTE FUNCTION seal_before_join();

-- Where a line asks for a claim of the shop's token: claim is a hash of its value, and belongs to the first buyer who joins with it.
CREATE TABLE line_claims (
  sale  bigint NOT NULL REFERENCES sales (id) ON DELETE CASCADE,
  claim text NOT NULL,
  buyer text NOT NULL,
  PRIMARY KEY (sale, claim)
);
