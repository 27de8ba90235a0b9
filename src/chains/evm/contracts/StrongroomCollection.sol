// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {IERC165} from "@openzeppelin/contracts/interfaces/IERC165.sol";
import {IERC4906} from "@openzeppelin/contracts/interfaces/IERC4906.sol";
import {ERC2981} from "@openzeppelin/contracts/token/common/ERC2981.sol";
import {ERC721} from "@openzeppelin/contracts/token/ERC721/ERC721.sol";

/**
 * @title A collection of ERC-721 tokens that its owner mints.
 * @notice Token ids are 1, 2, 3, … in the order of minting.
 * A token with a URI of its own answers exactly that URI, whatever the base URI is: hosted metadata is addressed by its
 * digest, so a prefix would break it. OpenZeppelin's ERC721URIStorage prefixes it, which is why it is not used here.
 * Royalties are ERC-2981's default royalty: one receiver and one share for the whole collection, none at first.
 */
contract StrongroomCollection is ERC721, ERC2981, Ownable, IERC4906 {
    // ERC-4906 defines events only; its interface id is the standard's number rather than a hash of functions.
    bytes4 private constant ERC4906_INTERFACE_ID = 0x49064906;

    uint256 private _lastTokenId;
    string private _baseUri;
    string private _contractUri;
    mapping(uint256 tokenId => string) private _tokenUris;

    /// @notice The metadata of the collection changed (ERC-7572).
    event ContractURIUpdated();

    constructor(
        string memory name_,
        string memory symbol_,
        string memory baseUri,
        string memory contractUri,
        address initialOwner
    ) ERC721(name_, symbol_) Ownable(initialOwner) {
        _baseUri = baseUri;
        _contractUri = contractUri;
    }

    /**
     * @notice Mints the next token to `to`; a contract must accept it (ERC-721 onERC721Received).
     * @param uri the token's own metadata URI, or "" to follow the base URI.
     */
    function safeMint(address to, string calldata uri) external onlyOwner returns (uint256 tokenId) {
        tokenId = ++_lastTokenId;
        // Before the receiver is called, so that it already sees the token's metadata.
        if (bytes(uri).length > 0) _tokenUris[tokenId] = uri;
        _safeMint(to, tokenId);
    }

    /// @notice Gives a token its own metadata URI; "" makes it follow the base URI again.
    function setTokenURI(uint256 tokenId, string calldata uri) external onlyOwner {
        _requireOwned(tokenId);
        _tokenUris[tokenId] = uri;
        emit MetadataUpdate(tokenId);
    }

    /// @notice Sets the prefix for tokens without a URI of their own; "" leaves them without metadata.
    function setBaseURI(string calldata baseUri) external onlyOwner {
        _baseUri = baseUri;
        if (_lastTokenId > 0) emit BatchMetadataUpdate(1, _lastTokenId);
    }

    /// @notice Sets where the metadata of the collection itself is found.
    function setContractURI(string calldata contractUri) external onlyOwner {
        _contractUri = contractUri;
        emit ContractURIUpdated();
    }

    /// @notice Asks `basisPoints` ten-thousandths of each sale for `receiver`.
    function setDefaultRoyalty(address receiver, uint96 basisPoints) external onlyOwner {
        _setDefaultRoyalty(receiver, basisPoints);
    }

    /// @notice Asks for no royalty any more.
    function deleteDefaultRoyalty() external onlyOwner {
        _deleteDefaultRoyalty();
    }

    /// @notice Where the metadata of the collection itself is found, its image included (ERC-7572).
    function contractURI() external view returns (string memory) {
        return _contractUri;
    }

    /// @notice How many tokens were minted; it is also the highest token id.
    function totalMinted() external view returns (uint256) {
        return _lastTokenId;
    }

    /// @notice The token's own URI; else base URI and token id; else "".
    function tokenURI(uint256 tokenId) public view override returns (string memory) {
        string memory own = _tokenUris[tokenId];
        if (bytes(own).length == 0) return super.tokenURI(tokenId);
        _requireOwned(tokenId);
        return own;
    }

    /// @inheritdoc IERC165
    function supportsInterface(bytes4 interfaceId) public view override(ERC721, ERC2981, IERC165) returns (bool) {
        return interfaceId == ERC4906_INTERFACE_ID || super.supportsInterface(interfaceId);
    }

    function _baseURI() internal view override returns (string memory) {
        return _baseUri;
    }
}
