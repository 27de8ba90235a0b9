// The headers that say for whom a request is. Each has a plain name, and the name that it has in WalletKit's API, whose clients
// call this service too.

import { AppError, type ErrorCode } from '../../platform/errors.ts'

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

/** As a browser may send them. */
export const CALLER_HEADERS = [PROJECT, TOKEN_SOURCE].flatMap(({ plain, walletKit }) => [plain, walletKit])

/** A proxy that adds one of the names must not make the request one of another project than its sender named. */
const readUnderEitherName = (headers: Headers, { plain, walletKit, refusal }: Names): string | null => {
  const [one, other] = [headers.get(plain)?.trim(), headers.get(walletKit)?.trim()]
  if (one !== undefined && other !== undefined && one.toLowerCase() !== other.toLowerCase()) {
    throw new AppError(refusal, `The headers ${plain} and ${walletKit} say different things: send one of them.`)
  }
  return one ?? other ?? null
}

/** The project that a request names, in small letters; null if it names none. @throws project_required if it names two. */
export const projectNamedBy = (headers: Headers): string | null =>
  readUnderEitherName(headers, PROJECT)?.toLowerCase() ?? null

/** Where a request says that its token is from; null if it does not say. @throws token_source_unsupported if it says two. */
export const tokenSourceNamedBy = (headers: Headers): string | null => readUnderEitherName(headers, TOKEN_SOURCE)
