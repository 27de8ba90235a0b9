import { Elysia } from 'elysia'
import type { Authentication } from '../auth/plugin.ts'
import type { Ctx } from '../context.ts'
import { answers, describedAs } from '../http/schema.ts'
import { addressesMetadata, lookupByName } from './look-up.ts'
import { AddressesMetadata, Lookup, LookupQuery, MetadataQuery } from './schema.ts'

const { detail } = describedAs('Addresses')

export const addressRoutes = (ctx: Pick<Ctx, 'db' | 'chains'>, authentication: Authentication) =>
  new Elysia({ prefix: '/addresses', normalize: false })
    .use(authentication)
    .get(
      '/metadata',
      ({ query }) => addressesMetadata(ctx, { network: query.network, texts: query.addresses.split(',') }),
      {
        query: MetadataQuery,
        response: answers(AddressesMetadata),
        ...detail('Describe addresses', 'Tokens, collections and other contracts, as they describe themselves.'),
      },
    )
    .get('/lookup-by-name', async ({ query }) => ({ address: await lookupByName(ctx, { name: query.name }) }), {
      query: LookupQuery,
      response: answers(Lookup),
      ...detail('Look up a name', 'The address of an ENS name on Ethereum.'),
    })
