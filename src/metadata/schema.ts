import { type Static, Type } from '@sinclair/typebox'
import { closed, ShortText, Text } from '../http/schema.ts'

const IMAGE = 'ipfs://bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi'

/** Where something lies that clients fetch and the server never does. */
export const UriField = (description: string) =>
  Type.String({
    maxLength: 2048,
    // Other schemes could mean code (javascript:, data:) or somebody's own machine (file:, http:) to whoever shows it.
    // What stands before an @ is a password or a false name for a host; browsers read a backslash as a slash.
    pattern: '^(?:https|ipfs|ar)://(?![^/?#]*@)[^/?#\\s\\x00-\\x1f\\x7f\\\\][^\\s\\x00-\\x1f\\x7f\\\\]*$',
    description: `${description} Never fetched by the server.`,
    rule: 'a URI of at most 2048 characters: https://, ipfs:// or ar:// and a host or name, no user, space or backslash',
    examples: [IMAGE],
  })

/** EIP-721 metadata to be hosted. */
export const MetadataBody = Type.Object(
  {
    name: ShortText("The token's name.", 'Door #1'),
    description: Text(
      { minLength: 0, maxLength: 4096 },
      { description: 'What the token is.', examples: ['A red door.'] },
    ),
    image: UriField("Where the token's image is."),
  },
  {
    ...closed,
    title: 'MetadataToHost',
    description: 'EIP-721 metadata, hosted under the digest of its text.',
    examples: [{ name: 'Door #1', description: 'A red door.', image: IMAGE }],
  },
)
export type MetadataBody = Static<typeof MetadataBody>

/** As a token has it, whoever wrote it: what is missing is empty. */
export const NftMetadata = Type.Object(
  { name: Type.String(), description: Type.String(), image: Type.String() },
  {
    ...closed,
    title: 'NftMetadata',
    examples: [{ name: 'Door #1', description: 'A red door.', image: IMAGE }],
  },
)
export type NftMetadata = Static<typeof NftMetadata>
