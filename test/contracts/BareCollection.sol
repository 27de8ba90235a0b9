// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {ERC721} from "@openzeppelin/contracts/token/ERC721/ERC721.sol";

/// An ERC-721 that mints without a URI: `safeMint(address)`; all metadata follows the base URI.
contract BareCollection is ERC721, Ownable {
    uint256 private _nextTokenId;

    constructor(string memory name_, string memory symbol_, address initialOwner)
        ERC721(name_, symbol_)
        Ownable(initialOwner)
    {}

    function safeMint(address to) external onlyOwner {
        _safeMint(to, _nextTokenId++);
    }

    function _baseURI() internal pure override returns (string memory) {
        return "https://example.org/bare/";
    }
}
