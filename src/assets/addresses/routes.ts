import { Elysia } from 'elysia'
import type { HasDb } from '../../../db/client.ts'
import type { HasChains } from '../../chains/chains.ts'
import type { Authentication } from '../../identity/auth/plugin.ts'
import { ADDRESS, NODE } from '../../platform/http/codes.ts'
import { describedAs } from '../../platform/http/schema.ts'
import type { HasIdentity } from '../../platform/sealing/sealer.ts'
import { addressesMetadata, lookupByName } from './look-up.ts'
import { AddressesMetadata, Lookup, LookupQuery, MetadataQuery } from './schema.ts'

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
