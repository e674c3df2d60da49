-- claims_of_line: whom claims belong to.
-- In      sales, hashes of the claims
-- Out     a row per claim that was taken: sale, claim, buyer
SELECT DISTINCT c.sale, c.claim, c.buyer FROM line_claims c JOIN unnest($1::bigint[], $2::text[]) AS a (sale, claim) USING (sale, claim)
