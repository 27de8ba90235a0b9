// The headers that say for whom a request is. Each has a plain name, and the name that it has in WalletKit's API, whose
// clients call this service too.

import { AppError, type ErrorCode } from '../../platform/errors.ts'
import { UUID } from '../../platform/http/text.ts'

const BEARER = /^Bearer +([A-Za-z0-9._~+/=-]+)$/i
/** Issuers write groups and roles into their tokens: 200 groups take some 10,500 characters. */
const BEARER_CHARACTERS_MAX = 16_384

type Names = { readonly plain: string; readonly walletKit: string; readonly refusal: ErrorCode }

const PROJECT: Names = {
  plain: 'X-Project-ID',
  walletKit: 'X-WalletKit-Project-ID',
  refusal: 'project_required',
}
const TOKEN_SOURCE: Names = {
  plain: 'X-Token-Source',
  walletKit: 'X-WalletKit-Token-Source',
  refusal: 'token_source_unsupported',
}

export const CALLER_HEADERS = [PROJECT, TOKEN_SOURCE].flatMap(({ plain, walletKit }) => [plain, walletKit])

/** A proxy that adds one of the names must not make the request one of another project than its sender named. */
const readUnderEitherName = (headers: Headers, { plain, walletKit, refusal }: Names): string | null => {
  const [one, other] = [headers.get(plain)?.trim(), headers.get(walletKit)?.trim()]
  if (one !== undefined && other !== undefined && one.toLowerCase() !== other.toLowerCase()) {
    throw new AppError(refusal, `The headers ${plain} and ${walletKit} say different things: send one of them.`)
  }
  return one ?? other ?? null
}

/** @returns the project in lower case; null without a header. @throws project_required for two different ones. */
export const projectNamedBy = (headers: Headers): string | null =>
  readUnderEitherName(headers, PROJECT)?.toLowerCase() ?? null

/** @returns null without a header. @throws token_source_unsupported for two different ones. */
export const tokenSourceNamedBy = (headers: Headers): string | null => readUnderEitherName(headers, TOKEN_SOURCE)

export const readProjectHeader = (headers: Headers): string => {
  const named = projectNamedBy(headers)
  if (named !== null && UUID.test(named)) return named
  throw new AppError('project_required', 'The header X-WalletKit-Project-ID must be the UUID of your project.')
}

/** The bearer token (RFC 6750 §2.1), or ''. @throws unauthorized for one that is too long. */
export const bearerOf = (headers: Headers): string => {
  const bearer = BEARER.exec(headers.get('authorization') ?? '')?.[1] ?? ''
  if (bearer.length <= BEARER_CHARACTERS_MAX) return bearer
  const sentence = `The bearer token must have at most ${BEARER_CHARACTERS_MAX} characters, and has ${bearer.length}: let its issuer put fewer claims into it.`
  throw new AppError('unauthorized', sentence)
}
