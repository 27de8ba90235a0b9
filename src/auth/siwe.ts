// Sign-In with Ethereum (EIP-4361). Only the parser that is made of the standard's own grammar reads messages: lenient ones
// take what a wallet would have shown otherwise.

import { ParsedMessage } from '@spruceid/siwe-parser'
import { type SignInMessage, timesOf } from './sign-in-message.ts'

const parsed = (text: string): ParsedMessage | null => {
  try {
    return new ParsedMessage(text)
  } catch {
    // Whatever it throws, it is for the text.
    return null
  }
}

/** null for what is no message of the standard, a wrong checksum of the address (EIP-55) included. Pure. */
export const parseSiwe = (text: string): SignInMessage | null => {
  const message = parsed(text)
  if (message === null) return null
  const { scheme, domain, uri, address, chainId, nonce } = message
  return { scheme: scheme ?? null, domain, uri, address, chainId, nonce, ...timesOf(message) }
}
