import { Type } from '@sinclair/typebox'
import { Elysia } from 'elysia'
import type { HasDb } from '../../../db/client.ts'
import type { HasChains } from '../../chains/chains.ts'
import type { Authentication } from '../../identity/auth/plugin.ts'
import { ADDRESS, NODE } from '../../platform/http/codes.ts'
import { closed, describedAs, NetworkField } from '../../platform/http/schema.ts'
import type { HasIdentity } from '../../platform/sealing/sealer.ts'
import { PreviewContract } from '../../signing/transactions/preview-schema.ts'
import { ADDRESSES_MAX, addressesMetadata, lookupByName } from './look-up.ts'

const MetadataQuery = Type.Object(
  {
    network: NetworkField,
    addresses: Type.String({
      minLength: 1,
      maxLength: 16_384,
      description: `1 to ${ADDRESSES_MAX} addresses, separated by commas; those of EVM networks in any letter case. On Substrate networks also ids: \`7\` of a collection, \`asset:1984\`, \`pool:7\` or \`foreign:0x0201090704\` of an asset.`,
      rule: `1 to ${ADDRESSES_MAX} addresses, separated by commas`,
      examples: ['0x70997970C51812dc3A010C7d01b50e0d17dc79C8,0x5fbdb2315678afecb367f032d93f642f64180aa3'],
    }),
  },
  closed,
)

const AddressesMetadata = Type.Record(Type.String(), Type.Union([PreviewContract, Type.Null()]), {
  description: 'By address, as in the request; null if it is no contract, asset or collection.',
  examples: [{ '0x70997970C51812dc3A010C7d01b50e0d17dc79C8': null }],
})

const LookupQuery = Type.Object(
  {
    name: Type.String({
      minLength: 1,
      maxLength: 512,
      description: 'An ENS name.',
      rule: 'a name like alice.eth',
      examples: ['alice.eth'],
    }),
  },
  closed,
)

const Lookup = Type.Object(
  {
    address: Type.Union([Type.String(), Type.Null()], {
      description: 'null if the name has no address on the chain itself; off-chain data (EIP-3668) is not fetched.',
      examples: ['0x70997970C51812dc3A010C7d01b50e0d17dc79C8'],
    }),
  },
  { ...closed, title: 'NameLookup' },
)

const { detail } = describedAs('Addresses')

export const addressRoutes = (ctx: HasDb & HasChains & HasIdentity, authentication: Authentication) =>
  new Elysia({ prefix: '/addresses', normalize: false })
    .use(authentication)
    .get(
      '/metadata',
      ({ query }) => addressesMetadata(ctx, { network: query.network, texts: query.addresses.split(',') }),
      {
        query: MetadataQuery,
        response: { 200: AddressesMetadata },
        ...detail('Describe addresses', 'Tokens, collections and other contracts, as they describe themselves.', [
          ...ADDRESS,
          ...NODE,
        ]),
      },
    )
    .get('/lookup-by-name', async ({ query }) => ({ address: await lookupByName(ctx, { name: query.name }) }), {
      query: LookupQuery,
      response: { 200: Lookup },
      ...detail('Look up a name', 'The address of an ENS name, on the network that has the registry of names.', NODE),
    })
