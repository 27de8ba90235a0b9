// Sign-In with Ethereum (EIP-4361). We use the parser that is generated from the standard's grammar: a lenient parser
// could accept a message that wallets display in another way.

import { ParsedMessage } from '@spruceid/siwe-parser'
import { type SignInMessage, timesOf } from './sign-in-message.ts'

const parsed = (text: string): ParsedMessage | null => {
  try {
    return new ParsedMessage(text)
  } catch {
    // The parser throws only because of the text.
    return null
  }
}

/** Pure. @returns null if the text is no valid EIP-4361 message; a wrong EIP-55 checksum counts as invalid. */
export const parseSiwe = (text: string): SignInMessage | null => {
  const message = parsed(text)
  if (message === null) return null
  const { scheme, domain, uri, address, chainId, nonce } = message
  return { scheme: scheme ?? null, domain, uri, address, chainId, nonce, ...timesOf(message) }
}
