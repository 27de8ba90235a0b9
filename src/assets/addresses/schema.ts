import { type Static, Type } from '@sinclair/typebox'
import { t } from 'elysia'
import { closed, NetworkField } from '../../platform/http/schema.ts'
import { PreviewContract } from '../../signing/transactions/preview-schema.ts'

export const ADDRESSES_MAX = 100

export const MetadataQuery = t.Object(
  {
    network: NetworkField,
    addresses: t.String({
      minLength: 1,
      maxLength: 16_384,
      description: `1 to ${ADDRESSES_MAX} addresses, separated by commas; those of EVM networks in any letter case. On Substrate networks also ids: \`7\` of a collection, \`asset:1984\`, \`pool:7\` or \`foreign:0x0201090704\` of an asset.`,
      rule: `1 to ${ADDRESSES_MAX} addresses, separated by commas`,
      examples: ['0x70997970C51812dc3A010C7d01b50e0d17dc79C8,0x5fbdb2315678afecb367f032d93f642f64180aa3'],
    }),
  },
  closed,
)

export const AddressesMetadata = Type.Record(Type.String(), Type.Union([PreviewContract, Type.Null()]), {
  description: 'By address, as in the request; null if it is no contract, asset or collection.',
  examples: [{ '0x70997970C51812dc3A010C7d01b50e0d17dc79C8': null }],
})
export type AddressesMetadata = Static<typeof AddressesMetadata>

export const LookupQuery = t.Object(
  {
    name: t.String({
      minLength: 1,
      maxLength: 512,
      description: 'An ENS name.',
      rule: 'a name like alice.eth',
      examples: ['alice.eth'],
    }),
  },
  closed,
)

export const Lookup = Type.Object(
  {
    address: Type.Union([Type.String(), Type.Null()], {
      description: 'null if the name has no address on the chain itself; off-chain data (EIP-3668) is not fetched.',
      examples: ['0x70997970C51812dc3A010C7d01b50e0d17dc79C8'],
    }),
  },
  { ...closed, title: 'NameLookup' },
)
