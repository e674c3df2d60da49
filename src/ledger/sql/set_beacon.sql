-- set_beacon: writes the value of the beacon that a draw has named, and writes it to the log.
-- In      sale, source, round or null, value, signature or null, by
-- Out     one row if it was written
-- Keeps   after the seal, once, and only of the source and round that were named
WITH known AS (
  UPDATE line_draws SET beacon_value = $4, beacon_signature = $5, beacon_by = $6, beacon_at = clock_timestamp()
  WHERE sale = $1 AND sealed_at IS NOT NULL AND beacon_value IS NULL AND beacon_source = $2 AND beacon_round IS NOT DISTINCT FROM $3::bigint
  RETURNING sale, beacon_source, beacon_round, beacon_value),
logged AS (
  INSERT INTO audit_log (by, action, sale, details)
  SELECT $6, 'line.beacon', sale, jsonb_build_object('source', beacon_source, 'round', beacon_round, 'value', beacon_value) FROM known)
SELECT sale FROM known
