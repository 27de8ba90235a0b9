// Well-known tokens, with their logos at Trust Wallet. Names and amounts always come from the contract, so a wrong
// address in tokens.json can only give a token a wrong logo.

import type { Environment } from '../../../db/words.ts'
import { LOGOS, type TokenDisplay } from './network.ts'
import tokens from './tokens.json' with { type: 'json' }

type Addresses = Readonly<Record<Environment, Readonly<Record<string, keyof typeof tokens.displays>>>>

const displayOf = (name: keyof typeof tokens.displays): TokenDisplay => {
  const { logo, displayDecimals } = tokens.displays[name]
  return { logoUrl: logo === null ? '' : `${LOGOS}/${logo}`, displayDecimals }
}

/** By canonical address; none for an operator's own network. */
export const knownTokens = (network: string, environment: Environment): ReadonlyMap<string, TokenDisplay> => {
  const addresses = (tokens.networks as Readonly<Record<string, Addresses>>)[network]?.[environment] ?? {}
  return new Map(Object.entries(addresses).map(([address, name]) => [address, displayOf(name)]))
}
