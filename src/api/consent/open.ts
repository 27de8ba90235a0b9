import { Value } from '@sinclair/typebox/value'
import type { HasDb } from '../../../db/client.ts'
import type { HasChains } from '../../chains/chains.ts'
import { AppError } from '../../platform/errors.ts'
import { mistakeIn } from '../../platform/http/failure.ts'
import { parseJsonText } from '../../platform/http/json-text.ts'
import { checkNetwork, UUID } from '../../platform/http/text.ts'
import { checkProposed, parseProposal, requireFuture } from '../../signing/policies/policies.ts'
import { ProposedPolicyBody } from '../../signing/policies/schema.ts'
import { type Login, openLogin } from '../login/open.ts'

export type Consent = {
  readonly login: Login
  readonly asks: 'consent' | 'granted' | 'revoke'
  /** The body of `POST /policies/describe`; null unless the page asks for consent. */
  readonly proposal: ProposedPolicyBody | null
  /** The policy to revoke; null unless the page asks for that. */
  readonly policyId: string | null
}

const PROPOSAL_MAX = 8_192
const BASE64URL = /^[A-Za-z0-9_-]+$/
/** The parameters that we add to the app's address. */
const ANSWERS = ['policy_id', 'error', 'state']

const refuse = (sentence: string): never => {
  throw new AppError('invalid_input', sentence)
}

const textIn = (base64url: string): string => {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(base64url, 'base64url'))
  } catch {
    return refuse('It must be JSON in UTF-8, as base64url.')
  }
}

const aboutParameter = (error: unknown): never => {
  if (!(error instanceof AppError)) throw error
  throw new AppError(error.code, `Parameter policy: ${error.message}`)
}

/** Parses the app's request, and checks everything that `POST /policies` checks and that needs no user. */
const readProposal = async (ctx: HasDb & HasChains, text: string): Promise<ProposedPolicyBody> => {
  if (text.length > PROPOSAL_MAX || !BASE64URL.test(text)) {
    return refuse(`It must be JSON as base64url without padding, of at most ${PROPOSAL_MAX} characters.`)
  }
  const body = parseJsonText(textIn(text))
  if (!Value.Check(ProposedPolicyBody, body)) return refuse(mistakeIn(ProposedPolicyBody, body))
  checkNetwork(
    ctx.chains.known.map(({ network }) => network),
    body,
  )
  const proposed = parseProposal(body)
  checkProposed(ctx, proposed)
  await requireFuture(ctx, proposed.expiresAt)
  return body
}

/** @throws invalid_input with a sentence for the app's developer. */
export const openConsent = async (
  ctx: Parameters<typeof openLogin>[0],
  input: { readonly asks: Consent['asks']; readonly query: Readonly<Record<string, string | undefined>> },
): Promise<Consent> => {
  const { asks, query } = input
  const login = await openLogin(ctx, query)
  const names = login.returnTo === null ? [] : [...new URL(login.returnTo).searchParams.keys()]
  if (names.some((name) => ANSWERS.includes(name))) {
    refuse(`The parameter redirect_uri must not have a parameter ${ANSWERS.join(', ')}: we add those.`)
  }
  const { policy = '', policy_id: id = '' } = query
  if (asks === 'revoke' && !UUID.test(id)) refuse('The parameter policy_id must be the UUID of a policy.')
  return {
    login,
    asks,
    proposal: asks === 'consent' ? await readProposal(ctx, policy).catch(aboutParameter) : null,
    policyId: asks === 'revoke' ? id.toLowerCase() : null,
  }
}
