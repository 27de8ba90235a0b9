/**
 * The checks of an issuer's token, and what each asks for, as the end of a sentence. The caller is told which one failed: it can read the
 * claims of its token itself. About a token that no key of the issuer signed it learns no more than that.
 */
export const TOKEN_CHECKS = {
  signature: 'it must be a JWT that a key of the issuer signed',
  kid: 'the issuer must publish a key with its "kid" for its "alg"',
  alg: 'its "alg" must be one of the algorithms that the project takes',
  typ: 'its "typ" must be absent, "JWT" or "at+jwt"',
  iss: 'its "iss" must be the issuer, in every character',
  aud: 'its "aud", or the claim that the operator named in its place, must be the audience that the project takes',
  exp: 'its "exp" must be there and not over: get a new one',
  nbf: 'its "nbf" must not be in the future',
  iat: 'its "iat" must be within the last day and not in the future: get a new one',
  user: 'the claim that names the user must be a text of 1 to 255 ASCII characters',
  ended: 'it was ended: get a new one',
} as const

export type TokenCheck = keyof typeof TOKEN_CHECKS
