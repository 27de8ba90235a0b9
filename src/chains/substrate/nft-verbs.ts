// Chooses the kind of NFTs: of VNFT programs on a network with programs, else of the runtime's pallet.

import { AppError } from '../../errors.ts'
import type { Chain } from '../chain.ts'
import { addressOf } from './address.ts'
import * as items from './nfts.ts'
import type { SubstrateNode } from './node.ts'
import * as vnft from './vnft.ts'

type NftVerbs = Pick<Chain, 'mintIntent' | 'transferNftIntent' | 'collectionIntent' | 'tokenUris' | 'contractUri'>

export const nftVerbs = (node: SubstrateNode): NftVerbs => {
  const { row } = node
  const programAddress = (contract: string): string => addressOf(row, Buffer.from(contract.slice(2), 'hex'))
  if (!row.hasPrograms) {
    return {
      mintIntent: (request) => items.mintIntent(node, request),
      transferNftIntent: (request) => items.transferIntent(node, request),
      collectionIntent: (request) => items.collectionIntent(node, request),
      tokenUris: (tokens) => items.tokenUris(node, tokens),
      contractUri: (contract) => items.contractUri(node, contract),
    }
  }
  return {
    mintIntent: (request) => vnft.mintIntent(node, { request, addressOf: programAddress }),
    transferNftIntent: async (request) => vnft.transferIntent(request, programAddress),
    collectionIntent: async () => {
      throw new AppError('not_implemented', `Collections of ${row.network} are programs, which are not created here.`)
    },
    tokenUris: (tokens) => vnft.tokenUris(node, { tokens, addressOf: programAddress }),
    // A VNFT program has a name and a symbol, but no metadata of the collection.
    contractUri: async () => null,
  }
}
