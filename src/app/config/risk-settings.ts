/** The settings of the risk hook, the shop's own program that judges a buyer before a ticket is given, and of what is shown of the crowd (docs/abuse.md). */

import { z } from 'zod'
import { parseAddressRules } from '../../webhooks/address-rules.ts'
import { targetRefusal } from '../../webhooks/target.ts'
import { hide, hideInAddress, list, parsedBy, setting, type Texts, whole } from './setting.ts'

const ALLOW_PRIVATE = 'RISK_ALLOW_PRIVATE'
const parseRules = (text: string) => parseAddressRules(text, ALLOW_PRIVATE)
const hasHook = (texts: Texts) => texts.RISK_URL !== undefined

const CLAIMS_MAX = 8

export const RISK_SETTINGS = {
  ABUSE_CLAIMS: setting({
    about:
      'Claims of the shop’s token, by name and separated by commas, whose values /ops/abuse counts when their buyers are turned away; at most 8. Values of up to 64 characters.',
    schema: list.refine(
      names => names.length <= CLAIMS_MAX && names.every(name => /^[^=\s]{1,64}$/.test(name)),
      'must be at most 8 names of claims, separated by commas',
    ),
  }),
  RISK_URL: setting({
    about:
      "The shop's own program that is asked about a buyer before a ticket is given, by POST (docs/abuse.md): allow, deny, or a harder challenge. Unset: none is asked. Needs RISK_SECRET.",
    schema: z.string(),
    conflict: (texts, url) => {
      const refusal = targetRefusal(url, parseRules(texts.RISK_ALLOW_PRIVATE ?? 'off'))
      return refusal && `RISK_URL: ${refusal}`
    },
    missing: texts =>
      hasHook(texts) && texts.RISK_SECRET === undefined
        ? 'RISK_URL needs RISK_SECRET: the shop must be able to tell our questions from others'
        : undefined,
    show: hideInAddress,
  }),
  RISK_SECRET: setting({
    about:
      'What questions to RISK_URL are signed with, as webhooks are (Standard Webhooks): whsec_ and 24 to 64 random bytes in base64.',
    schema: z.string().regex(/^whsec_(?:[A-Za-z0-9+/]{4}){8,22}(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/, {
      error: 'must be whsec_ and 24 to 64 random bytes in base64, as in: echo whsec_$(openssl rand -base64 32)',
    }),
    applies: hasHook,
    show: hide,
  }),
  RISK_TIMEOUT_MS: setting({
    about:
      'How long a buyer waits for the answer at most, in milliseconds, from the question to the end of the answer.',
    schema: whole(10, 10_000),
    default: '500',
    applies: hasHook,
    show: Number,
  }),
  RISK_ON_FAILURE: setting({
    about:
      'What a buyer gets when RISK_URL does not answer in time, fails or answers nonsense. allow: the ticket, as without a hook. deny: no ticket, but 503 busy, until it answers again.',
    schema: z.enum(['allow', 'deny'], 'must be allow or deny'),
    default: 'allow',
    applies: hasHook,
  }),
  RISK_CACHE_SECONDS: setting({
    about: 'How long an answer counts for that buyer and item, in each process; 0: every request for a ticket asks.',
    schema: whole(0, 3_600),
    default: '60',
    applies: hasHook,
    show: Number,
  }),
  RISK_CONCURRENCY: setting({
    about:
      'How many questions are under way at the same time, in each process. Others wait, within RISK_TIMEOUT_MS; then RISK_ON_FAILURE holds.',
    schema: whole(1, 1_000),
    default: '64',
    applies: hasHook,
    show: Number,
  }),
  RISK_ALLOW_PRIVATE: setting({
    about:
      'Whether RISK_URL may lead to addresses that are not public: off, on, or only these networks, separated by commas (10.0.0.0/8). There also without TLS; public addresses need https.',
    schema: parsedBy(parseRules),
    default: 'off',
    applies: hasHook,
    show: rules => rules?.allowed ?? null,
  }),
}
