// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

// As little of a collection as minting needs: an event, and the URI that came with it.

/// An ERC-721 that wants an id beside the URI, as one without automatic ids does.
contract ChosenIdCollection {
    event Transfer(address indexed from, address indexed to, uint256 indexed tokenId);

    mapping(uint256 tokenId => string) public tokenURI;

    function safeMint(address to, uint256 tokenId, string calldata uri) external {
        require(bytes(tokenURI[tokenId]).length == 0, "already minted");
        tokenURI[tokenId] = uri;
        emit Transfer(address(0), to, tokenId);
    }
}

/// An ERC-1155 whose tokens have URIs of their own: the highest id asks for a new one, as thirdweb's do.
contract EditionCollection {
    event TransferSingle(
        address indexed operator, address indexed from, address indexed to, uint256 id, uint256 value
    );

    mapping(uint256 id => string) public uri;
    uint256 private _nextTokenId;

    function mintTo(address to, uint256 tokenId, string calldata uri_, uint256 amount) external {
        require(tokenId == type(uint256).max, "no such id");
        uri[_nextTokenId] = uri_;
        emit TransferSingle(msg.sender, address(0), to, _nextTokenId++, amount);
    }
}

/// An ERC-721 that anybody mints for a price, and that says of itself what its maker wrote.
contract PaidCollection {
    event Transfer(address indexed from, address indexed to, uint256 indexed tokenId);

    error NotThisWay(uint256 given);

    string public contractURI;
    uint256 private _nextTokenId;

    constructor(string memory contractUri) {
        contractURI = contractUri;
    }

    function supportsInterface(bytes4 id) external pure returns (bool) {
        return id == 0x01ffc9a7 || id == 0x80ac58cd;
    }

    function mint(address to) external payable {
        if (msg.value < 0.08 ether) revert NotThisWay(msg.value);
        emit Transfer(address(0), to, _nextTokenId++);
    }
}

/// A coin that anybody gets by the name of a collection's function.
contract FaucetToken {
    event Transfer(address indexed from, address indexed to, uint256 value);

    function mint(address to) external {
        emit Transfer(address(0), to, 1);
    }
}

/// Takes any call that pays, and mints nothing.
contract TipJar {
    fallback() external payable {
        require(msg.value > 0, "nothing given");
    }
}
